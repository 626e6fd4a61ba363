## www: the dashboard, as it is

wwwdir = $(pkgdatadir)/www
dist_www_DATA = \
	%D%/api.js \
	%D%/app.js \
	%D%/cells.js \
	%D%/command.js \
	%D%/create.js \
	%D%/dialog.js \
	%D%/display.js \
	%D%/dom.js \
	%D%/facts.js \
	%D%/form.js \
	%D%/format.js \
	%D%/history.js \
	%D%/index.html \
	%D%/keys.js \
	%D%/login.js \
	%D%/logo.svg \
	%D%/network.js \
	%D%/output.js \
	%D%/pointer.js \
	%D%/poll.js \
	%D%/ports.js \
	%D%/scope.js \
	%D%/screen.js \
	%D%/sdk-node.mjs \
	%D%/session.js \
	%D%/sessions.js \
	%D%/setup.js \
	%D%/socket.js \
	%D%/speak.js \
	%D%/state.js \
	%D%/style.css \
	%D%/terminal.js \
	%D%/vt.js

EXTRA_DIST += \
	www/dashboard.png \
	t/browser/dashboard.mjs \
	t/browser/dashboard.t \
	t/browser/forgery.mjs \
	t/browser/forgery.t \
	t/browser/network.mjs \
	t/browser/network.t \
	t/browser/package-lock.json \
	t/browser/package.json \
	t/browser/person.mjs \
	t/browser/terminal-use.mjs \
	t/browser/terminal-use.t \
	t/browser/terminal.mjs \
	t/browser/terminal.t \
	t/browser/use.mjs \
	t/browser/use.t \
	t/browser/vt.mjs \
	t/browser/vt.t \
	t/browser/walk.mjs
