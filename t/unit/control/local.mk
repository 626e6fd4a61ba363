## src/control and src/reaper with a real database and the provider in memory;
## t/control/*.t run these programs

CONTROL_WORLD_LIBS = libreaper.a libcontrol.a libprovider.a libstore.a libdomain.a \
	$(LIBCOMMON) $(PQ_LIBS) $(CMOCKA_LIBS)
CONTROL_WORLD_SOURCES = t/unit/control/world.c t/unit/control/world.h

UNIT += t/unit/control/steps_test
t_unit_control_steps_test_SOURCES = t/unit/control/steps_test.c
t_unit_control_steps_test_LDADD = libcontrol.a $(LIBCOMMON) $(CMOCKA_LIBS)
t_unit_control_steps_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=clock_us

check_PROGRAMS += t/unit/control/admit_world t/unit/control/cases_world \
	t/unit/control/clean_world \
	t/unit/control/disk_world t/unit/control/evidence_world \
	t/unit/control/look_world t/unit/control/reap_world \
	t/unit/control/snapshot_world t/unit/control/start_world \
	t/unit/control/stop_world
EXTRA_DIST += t/control/admit.t t/control/cases.t t/control/clean.t t/control/disk.t \
	t/control/evidence.t t/control/look.t t/control/reap.t \
	t/control/snapshot.t t/control/start.t t/control/stop.t

t_unit_control_admit_world_SOURCES = t/unit/control/admit_world.c $(CONTROL_WORLD_SOURCES)
t_unit_control_admit_world_LDADD = $(CONTROL_WORLD_LIBS)
t_unit_control_disk_world_SOURCES = t/unit/control/disk_world.c $(CONTROL_WORLD_SOURCES)
t_unit_control_disk_world_LDADD = $(CONTROL_WORLD_LIBS)
t_unit_control_clean_world_SOURCES = t/unit/control/clean_world.c $(CONTROL_WORLD_SOURCES)
t_unit_control_clean_world_LDADD = $(CONTROL_WORLD_LIBS)
t_unit_control_evidence_world_SOURCES = t/unit/control/evidence_world.c $(CONTROL_WORLD_SOURCES)
t_unit_control_evidence_world_LDADD = $(CONTROL_WORLD_LIBS)
t_unit_control_look_world_SOURCES = t/unit/control/look_world.c $(CONTROL_WORLD_SOURCES)
t_unit_control_look_world_LDADD = $(CONTROL_WORLD_LIBS)
t_unit_control_reap_world_SOURCES = t/unit/control/reap_world.c $(CONTROL_WORLD_SOURCES)
t_unit_control_reap_world_LDADD = $(CONTROL_WORLD_LIBS)
t_unit_control_cases_world_SOURCES = t/unit/control/cases_world.c $(CONTROL_WORLD_SOURCES)
t_unit_control_cases_world_LDADD = $(CONTROL_WORLD_LIBS)
t_unit_control_snapshot_world_SOURCES = t/unit/control/snapshot_world.c $(CONTROL_WORLD_SOURCES)
t_unit_control_snapshot_world_LDADD = $(CONTROL_WORLD_LIBS)
t_unit_control_start_world_SOURCES = t/unit/control/start_world.c $(CONTROL_WORLD_SOURCES)
t_unit_control_start_world_LDADD = $(CONTROL_WORLD_LIBS)
t_unit_control_stop_world_SOURCES = t/unit/control/stop_world.c $(CONTROL_WORLD_SOURCES)
t_unit_control_stop_world_LDADD = $(CONTROL_WORLD_LIBS)
