## t/api: the whole service, asked through nginx

EXTRA_DIST += \
	%D%/archive.t \
	%D%/audit.t \
	%D%/awake.t \
	%D%/backup.t \
	%D%/badinput.t \
	%D%/correlation.t \
	%D%/dataplane.t \
	%D%/directories.t \
	%D%/events.t \
	%D%/failures.t \
	%D%/files.t \
	%D%/git.t \
	%D%/git_server.py \
	%D%/interpreter.t \
	%D%/interrupt.t \
	%D%/kernels.t \
	%D%/logging.t \
	%D%/ports.t \
	%D%/proxy.t \
	%D%/process.t \
	%D%/process_logs.t \
	%D%/programs.t \
	%D%/quotas.t \
	%D%/raw-files.t \
	%D%/sandbox_ids.t \
	%D%/sessions.t \
	%D%/streams.t \
	%D%/shell.t \
	%D%/setup.t \
	%D%/snapshots.t \
	%D%/suspend.t \
	%D%/suspend_none.t \
	%D%/tenancy.t \
	%D%/tickets.t \
	%D%/terminal.t \
	%D%/websocket.t \
	t/lib/awake.py \
	t/lib/contexts.py \
	t/lib/filecalls.py \
	t/lib/pause.c \
	t/lib/paused.py \
	t/lib/processes.py \
	t/lib/service.py \
	t/lib/terminals.py \
	t/lib/websocket_echo.py
