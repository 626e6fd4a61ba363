## t/provider: the conformance suite; each .t is one world it runs in

if HAVE_CMOCKA
check_PROGRAMS += t/provider/conformance
t_provider_conformance_SOURCES = \
	t/provider/conformance.c t/provider/suite.h \
	t/provider/conformance_boxes.c \
	t/provider/conformance_cells.c \
	t/provider/conformance_runs.c \
	t/provider/conformance_disk.c \
	t/provider/conformance_host.c \
	t/provider/conformance_jobs.c \
	t/provider/conformance_launcher.c \
	t/provider/conformance_records.c \
	t/provider/conformance_snapshots.c \
	t/provider/conformance_usage.c

check_PROGRAMS += t/provider/probe
t_provider_probe_SOURCES = t/provider/probe.c
t_provider_probe_LDADD =
t_provider_probe_LDFLAGS = $(sandlease_agent_LDFLAGS)
endif

EXTRA_DIST += \
	t/provider/world.sh \
	t/provider/conformance-cgroup-bwrap.t \
	t/provider/conformance-cgroup.t \
	t/provider/conformance-cgroup2.t \
	t/provider/conformance-fake.t \
	t/provider/conformance-local-bwrap.t \
	t/provider/conformance-local.t
