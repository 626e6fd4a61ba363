## Units, cron line, users and directories of an installation.  They are filled
## in by make, not by configure: directories may still change at `make` time.

UNIT_DIR_RUN = /run/sandlease
UNIT_DIR_STATE = /var/lib/sandlease
UNIT_FILL = $(AM_V_GEN)$(MKDIR_P) $(@D) && sed \
	-e 's|@sbindir[@]|$(sbindir)|g' \
	-e 's|@sysconfdir[@]|$(sysconfdir)|g' \
	-e 's|@rundir[@]|$(UNIT_DIR_RUN)|g' \
	-e 's|@statedir[@]|$(UNIT_DIR_STATE)|g' $< >$@-t && mv $@-t $@

UNITS = \
	src/admin/sandlease.target \
	src/admin/sandlease-drain.service \
	src/api/sandlease-api.service \
	src/api/sandlease-api.socket \
	src/api/sandlease-auth.socket \
	src/api/sandlease-read.socket \
	src/api/sandlease-stream.socket \
	src/egress/sandlease-egress.service \
	src/reaper/sandlease-reaper.service \
	src/reaper/sandlease-reaper.timer

$(UNITS): %: %.in Makefile
	$(UNIT_FILL)
src/reaper/cron.d/sandlease: src/reaper/sandlease.cron.in Makefile
	$(UNIT_FILL)
src/api/tmpfiles.d/sandlease.conf: src/api/sandlease.tmpfiles.in Makefile
	$(UNIT_FILL)
src/api/sysusers.d/sandlease.conf: src/api/sandlease.sysusers.in Makefile
	$(UNIT_FILL)
src/api/sysctl.d/60-sandlease.conf: src/api/sandlease.sysctl.in Makefile
	$(UNIT_FILL)

## cron reads no file with a dot in its name
crondir = $(sysconfdir)/cron.d
nodist_cron_DATA = src/reaper/cron.d/sandlease
tmpfilesdir = $(prefix)/lib/tmpfiles.d
nodist_tmpfiles_DATA = src/api/tmpfiles.d/sandlease.conf
sysusersdir = $(prefix)/lib/sysusers.d
nodist_sysusers_DATA = src/api/sysusers.d/sandlease.conf
sysctldir = $(prefix)/lib/sysctl.d
nodist_sysctl_DATA = src/api/sysctl.d/60-sandlease.conf
if WITH_SYSTEMD
nodist_systemdsystemunit_DATA = $(UNITS)
endif

CLEANFILES += $(UNITS) $(nodist_cron_DATA) $(nodist_tmpfiles_DATA) \
	$(nodist_sysusers_DATA) $(nodist_sysctl_DATA)
EXTRA_DIST += $(UNITS:=.in) src/reaper/sandlease.cron.in \
	src/api/sandlease.tmpfiles.in src/api/sandlease.sysusers.in \
	src/api/sandlease.sysctl.in
