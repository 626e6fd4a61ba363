## t/cli: the command line, against a stack

EXTRA_DIST += \
	t/cli/bytes.t \
	t/cli/commands.t \
	t/cli/doctor.t \
	t/cli/exec.t \
	t/cli/shell.t \
	t/cli/strangers.t
