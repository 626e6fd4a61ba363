## www: the dashboard, as it is

wwwdir = $(pkgdatadir)/www
dist_www_DATA = \
	%D%/app.js \
	%D%/index.html
