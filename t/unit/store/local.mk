## unit tests of src/store, and a program that prints its tables for t/sql

UNIT += t/unit/store/store_test
STORE_TEST_LIBS = libstore.a libdomain.a $(LIBCOMMON) $(PQ_LIBS)

t_unit_store_store_test_SOURCES = t/unit/store/store_test.c
t_unit_store_store_test_LDADD = $(STORE_TEST_LIBS) $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/store/print_tables
t_unit_store_print_tables_SOURCES = t/unit/store/print_tables.c
t_unit_store_print_tables_LDADD = $(STORE_TEST_LIBS)

## needs a server: run by t/sql/store.t
check_PROGRAMS += t/unit/store/store_world
t_unit_store_store_world_SOURCES = t/unit/store/store_world.c
t_unit_store_store_world_LDADD = $(STORE_TEST_LIBS) $(CMOCKA_LIBS)
