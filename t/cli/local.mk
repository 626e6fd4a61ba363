## t/cli: the command line, against a stack

EXTRA_DIST += \
	t/cli/account.t \
	t/cli/bytes.t \
	t/cli/commands.t \
	t/cli/doctor.t \
	t/cli/exec.t \
	t/cli/forward.t \
	t/cli/manage.t \
	t/cli/run.t \
	t/cli/shell.t \
	t/cli/strangers.t \
	t/cli/table.t \
	t/cli/volume.t
