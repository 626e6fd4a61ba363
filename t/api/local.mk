## t/api: the whole service, asked through nginx

EXTRA_DIST += \
	%D%/admin.t \
	%D%/badinput.t \
	%D%/cgi.t \
	%D%/dataplane.t \
	%D%/failures.t \
	%D%/logging.t \
	%D%/nginx.t \
	%D%/nginx_checks.py \
	%D%/nginx_control.py \
	%D%/nginx_data.py \
	%D%/nginx_preview.py \
	%D%/nginx_states.py \
	%D%/nginx_world.py \
	%D%/sandbox_ids.t \
	%D%/sessions.t \
	%D%/tenancy.t \
	%D%/version.t \
	t/lib/app.py \
	t/lib/pause.c \
	t/lib/service.py
