## t/chaos: ./dev chaos, and what crash points prove

CHAOS = t/chaos/watch
EXTRA_PROGRAMS += $(CHAOS)
CLEANFILES += $(CHAOS)

t_chaos_watch_SOURCES = t/chaos/watch.c
t_chaos_watch_CFLAGS = $(AM_CFLAGS)
t_chaos_watch_LDFLAGS = $(AM_LDFLAGS) $(PIE_LDFLAGS)
t_chaos_watch_LDADD = $(LIBCOMMON)

## after `all`, which is a make of its own: side by side both would compile
chaos-programs: all
	$(MAKE) $(AM_MAKEFLAGS) $(CHAOS)
.PHONY: chaos-programs

EXTRA_DIST += \
	%D%/audit.py \
	%D%/audit.t \
	%D%/chaos.py \
	%D%/clients.py \
	%D%/crash-points.t \
	%D%/faults.py \
	%D%/late-start.t \
	%D%/lost-intent.t \
	%D%/monkey.py \
	%D%/points \
	%D%/run \
	%D%/settings \
	%D%/short.t \
	%D%/execution_uses.py \
	%D%/uses.py \
	%D%/uses_warm.py \
	%D%/uses_webhook.py \
	%D%/watch.t
