## www: the dashboard, as it is

wwwdir = $(pkgdatadir)/www
dist_www_DATA = \
	%D%/api.js \
	%D%/app.js \
	%D%/command.js \
	%D%/create.js \
	%D%/dialog.js \
	%D%/dom.js \
	%D%/facts.js \
	%D%/format.js \
	%D%/history.js \
	%D%/index.html \
	%D%/login.js \
	%D%/logo.svg \
	%D%/poll.js \
	%D%/ports.js \
	%D%/session.js \
	%D%/sessions.js \
	%D%/state.js \
	%D%/style.css

EXTRA_DIST += \
	t/browser/dashboard.mjs \
	t/browser/dashboard.t \
	t/browser/package-lock.json \
	t/browser/package.json
