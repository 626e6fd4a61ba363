## t/api

EXTRA_DIST += \
	%D%/nginx.t \
	%D%/nginx_checks.py \
	t/lib/app.py \
	t/lib/fcgi.py \
	t/lib/tap.py
