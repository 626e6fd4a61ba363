## unit tests of src/provider

if HAVE_CMOCKA
PROVIDER_TESTS = \
	t/unit/provider/agent_link_test \
	t/unit/provider/box_test \
	t/unit/provider/cgroup_test \
	t/unit/provider/fake_test \
	t/unit/provider/local_bwrap_test \
	t/unit/provider/provider_test \
	t/unit/provider/record_test \
	t/unit/provider/trash_test
UNIT += $(PROVIDER_TESTS)
PROVIDER_TEST_LIBS = $(LIBPROVIDER) $(LIBCOMMON) $(CMOCKA_LIBS)

t_unit_provider_agent_link_test_SOURCES = t/unit/provider/agent_link_test.c
t_unit_provider_agent_link_test_LDADD = $(PROVIDER_TEST_LIBS)
t_unit_provider_box_test_SOURCES = t/unit/provider/box_test.c
t_unit_provider_box_test_LDADD = $(PROVIDER_TEST_LIBS)
t_unit_provider_cgroup_test_SOURCES = t/unit/provider/cgroup_test.c
t_unit_provider_cgroup_test_LDADD = $(PROVIDER_TEST_LIBS)
t_unit_provider_local_bwrap_test_SOURCES = t/unit/provider/local_bwrap_test.c
t_unit_provider_local_bwrap_test_LDADD = $(PROVIDER_TEST_LIBS)
t_unit_provider_record_test_SOURCES = t/unit/provider/record_test.c
t_unit_provider_record_test_LDADD = $(PROVIDER_TEST_LIBS)
t_unit_provider_trash_test_SOURCES = t/unit/provider/trash_test.c
t_unit_provider_trash_test_LDADD = $(PROVIDER_TEST_LIBS)
t_unit_provider_fake_test_SOURCES = t/unit/provider/fake_test.c
t_unit_provider_fake_test_LDADD = $(PROVIDER_TEST_LIBS)
t_unit_provider_provider_test_SOURCES = t/unit/provider/provider_test.c
t_unit_provider_provider_test_LDADD = $(PROVIDER_TEST_LIBS)
endif
