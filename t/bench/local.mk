## t/bench: what ./dev bench measures with; built by `make bench-programs`

BENCH = t/bench/load t/bench/noop
EXTRA_PROGRAMS = $(BENCH)
CLEANFILES += $(BENCH)

t_bench_load_SOURCES = \
	t/bench/bench.c t/bench/bench.h \
	t/bench/keys.c t/bench/keys.h \
	t/bench/load.c \
	t/bench/stats.c t/bench/stats.h \
	t/bench/visit.c t/bench/visit.h \
	t/bench/work.c t/bench/work.h
t_bench_load_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/t
t_bench_load_CFLAGS = $(AM_CFLAGS)
t_bench_load_LDFLAGS = $(AM_LDFLAGS) $(PIE_LDFLAGS)
t_bench_load_LDADD = $(LIBCOMMON) $(CURL_LIBS)

t_bench_noop_SOURCES = t/bench/noop.c
t_bench_noop_CFLAGS = $(AM_CFLAGS)
t_bench_noop_LDFLAGS = $(AM_LDFLAGS) $(PIE_LDFLAGS)
t_bench_noop_LDADD = $(LIBCOMMON) $(FCGI_LIBS)

bench-programs: $(BENCH)
.PHONY: bench-programs

EXTRA_DIST += \
	t/bench/auth.lua \
	t/bench/auth.py \
	t/bench/auth.sh \
	t/bench/bwrap-at-gate \
	t/bench/live.sh \
	t/bench/measure.sh \
	t/bench/executions.py \
	t/bench/executions.sh \
	t/bench/files.sh \
	t/bench/network.py \
	t/bench/network.sh \
	t/bench/queries.py \
	t/bench/reaper.sh \
	t/bench/snapshot.sh t/bench/start.sh \
	t/bench/upload.py \
	t/bench/work.sh \
	t/bench/report.awk \
	t/bench/run
