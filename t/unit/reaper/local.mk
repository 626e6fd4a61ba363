## unit tests of src/reaper

UNIT += t/unit/reaper/plan_test

t_unit_reaper_plan_test_SOURCES = t/unit/reaper/plan_test.c
t_unit_reaper_plan_test_LDADD = libreaper.a $(CMOCKA_LIBS)
