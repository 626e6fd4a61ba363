## unit tests of src/domain

UNIT += t/unit/domain/disk_test t/unit/domain/identity_test \
	t/unit/domain/lease_test t/unit/domain/sandbox_id_test t/unit/domain/session_test
DOMAIN_TEST_LIBS = libdomain.a $(LIBCOMMON) $(CMOCKA_LIBS)

t_unit_domain_disk_test_SOURCES = t/unit/domain/disk_test.c
t_unit_domain_disk_test_LDADD = $(DOMAIN_TEST_LIBS)
t_unit_domain_identity_test_SOURCES = t/unit/domain/identity_test.c
t_unit_domain_identity_test_LDADD = $(DOMAIN_TEST_LIBS)
t_unit_domain_lease_test_SOURCES = t/unit/domain/lease_test.c
t_unit_domain_lease_test_LDADD = $(DOMAIN_TEST_LIBS)
t_unit_domain_sandbox_id_test_SOURCES = t/unit/domain/sandbox_id_test.c
t_unit_domain_sandbox_id_test_LDADD = $(DOMAIN_TEST_LIBS)
t_unit_domain_session_test_SOURCES = t/unit/domain/session_test.c
t_unit_domain_session_test_LDADD = $(DOMAIN_TEST_LIBS)
