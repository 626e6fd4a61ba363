## t/api: the whole service, asked through nginx

EXTRA_DIST += \
	%D%/admin.t \
	%D%/audit.t \
	%D%/badinput.t \
	%D%/cgi.t \
	%D%/correlation.t \
	%D%/dataplane.t \
	%D%/events.t \
	%D%/failures.t \
	%D%/logging.t \
	%D%/quotas.t \
	%D%/sandbox_ids.t \
	%D%/sessions.t \
	%D%/tenancy.t \
	%D%/version.t \
	t/lib/pause.c \
	t/lib/paused.py \
	t/lib/service.py
