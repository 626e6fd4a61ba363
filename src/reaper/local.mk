sbin_PROGRAMS += sandlease-reaper

EXTRA_DIST += src/reaper/README.md

noinst_LIBRARIES += libreaper.a
libreaper_a_SOURCES = \
	src/reaper/ask.c src/reaper/ask.h \
	src/reaper/clear.c src/reaper/clear.h \
	src/reaper/executions.c src/reaper/executions.h \
	src/reaper/leftovers.c src/reaper/leftovers.h \
	src/reaper/members.c src/reaper/members.h \
	src/reaper/parts.c src/reaper/parts.h \
	src/reaper/pass.c src/reaper/pass.h \
	src/reaper/plan.c src/reaper/plan.h \
	src/reaper/ports.c src/reaper/ports.h \
	src/reaper/reconcile.c src/reaper/reconcile.h \
	src/reaper/samples.c src/reaper/samples.h \
	src/reaper/sighting.c src/reaper/sighting.h \
	src/reaper/snapshots.c src/reaper/snapshots.h \
	src/reaper/stops.c src/reaper/stops.h \
	src/reaper/triggers.c src/reaper/triggers.h \
	src/reaper/upkeep.c src/reaper/upkeep.h \
	src/reaper/stop_requests.c src/reaper/stop_requests.h \
	src/reaper/webhooks.c src/reaper/webhooks.h

sandlease_reaper_SOURCES = src/reaper/main.c
sandlease_reaper_LDADD = libreaper.a libwebhook.a libcontrol.a libprovider.a libstore.a libdomain.a $(LIBCOMMON) \
	$(PQ_LIBS) $(CURL_LIBS)
sandlease_reaper_LDFLAGS = $(AM_LDFLAGS) $(PIE_LDFLAGS)

dist_man_MANS += src/reaper/sandlease-reaper.8
