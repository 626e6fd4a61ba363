## nginx: templates, and the files made of them for this installation.  A
## machine with other names or ports runs nginx/templates/render itself.

NGINX_TEMPLATES = \
	%D%/answer.headers.in \
	%D%/auth.params.in \
	%D%/control.conf.in \
	%D%/credentials.js.in \
	%D%/data.headers.in \
	%D%/deny.params.in \
	%D%/final.js.in \
	%D%/from-preview.answer.in \
	%D%/limits.conf.in \
	%D%/main.conf.in \
	%D%/maps-path.conf.in \
	%D%/maps.conf.in \
	%D%/nginx.conf.in \
	%D%/no-accel.params.in \
	%D%/no-api.answer.in \
	%D%/no-preview.answer.in \
	%D%/preview-auth.params.in \
	%D%/preview-host.conf.in \
	%D%/preview-none.conf.in \
	%D%/preview-ours.params.in \
	%D%/preview-pages.conf.in \
	%D%/preview-path.conf.in \
	%D%/preview-redirect.params.in \
	%D%/preview-who.params.in \
	%D%/preview.conf.in \
	%D%/preview.params.in \
	%D%/proxy.conf.in \
	%D%/proxy.params.in \
	%D%/redirect.conf.in \
	%D%/sandlease.conf.in \
	%D%/session-dead.conf.in \
	%D%/session-deny.conf.in \
	%D%/session-wake.conf.in \
	%D%/wake.params.in \
	%D%/worker.params.in \
	%D%/wrapper.params.in \
	%D%/ws-pool.conf.in \
	%D%/ws.conf.in \
	%D%/ws.params.in

nginxdir = $(pkgdatadir)/nginx
nodist_nginx_DATA = \
	%D%/answer.headers \
	%D%/auth.params \
	%D%/control.conf \
	%D%/credentials.js \
	%D%/data.headers \
	%D%/deny.params \
	%D%/final.js \
	%D%/from-preview.answer \
	%D%/limits.conf \
	%D%/main.conf \
	%D%/maps-path.conf \
	%D%/maps.conf \
	%D%/no-accel.params \
	%D%/no-api.answer \
	%D%/no-preview.answer \
	%D%/preview-auth.params \
	%D%/preview-host.conf \
	%D%/preview-none.conf \
	%D%/preview-ours.params \
	%D%/preview-pages.conf \
	%D%/preview-path.conf \
	%D%/preview-redirect.params \
	%D%/preview-who.params \
	%D%/preview.conf \
	%D%/preview.params \
	%D%/proxy.conf \
	%D%/proxy.params \
	%D%/redirect.conf \
	%D%/sandlease.conf \
	%D%/session-dead.conf \
	%D%/session-deny.conf \
	%D%/session-wake.conf \
	%D%/wake.params \
	%D%/worker.params \
	%D%/wrapper.params \
	%D%/ws-pool.conf \
	%D%/ws.conf \
	%D%/ws.params
nginxtemplatesdir = $(pkgdatadir)/nginx/templates
dist_nginxtemplates_DATA = $(NGINX_TEMPLATES)
dist_nginxtemplates_SCRIPTS = %D%/render

%D%/rendered.stamp: $(NGINX_TEMPLATES) %D%/render
	$(AM_V_GEN)$(SHELL) $(srcdir)/%D%/render %D% CONF_DIR=$(nginxdir) \
	  RUN_DIR=/run/sandlease LISTEN=127.0.0.1 PORT=8080 PREVIEW_PORT=8081 \
	  PREVIEW_DOMAIN=localhost PUBLIC_HOST=127.0.0.1 WWW_DIR=$(wwwdir) \
	  LOG_DIR=/var/log/nginx STATE_DIR=/var/lib/nginx \
	  USER_DIRECTIVE='user www-data;' WORKERS=auto PID_FILE=/run/nginx.pid \
	  && touch $@
$(nodist_nginx_DATA): %D%/rendered.stamp

CLEANFILES += $(nodist_nginx_DATA) %D%/nginx.conf %D%/rendered.stamp \
  %D%/site.values

EXTRA_DIST += \
	t/api/nginx.t \
	t/api/nginx_apps.py \
	t/api/nginx_checks.py \
	t/api/nginx_control.py \
	t/api/nginx_data.py \
	t/api/nginx_final.py \
	t/api/nginx_limits.py \
	t/api/nginx_preview.py \
	t/api/nginx_proxy.py \
	t/api/nginx_states.py \
	t/api/nginx_world.py \
	t/api/nginx_ws.py \
	t/lib/app.py \
	t/lib/fcgi.py \
	t/lib/standin.py \
	t/lib/tap.py
