## unit tests of src/common

UNIT += t/unit/common/channel_test t/unit/common/clock_test \
	t/unit/common/conf_test t/unit/common/err_test t/unit/common/id_test \
	t/unit/common/json_test t/unit/common/log_test t/unit/common/mem_test \
	t/unit/common/str_test t/unit/common/token_test \
	t/unit/common/utf8_test
COMMON_TEST_LIBS = $(LIBCOMMON) $(CMOCKA_LIBS)
EXTRA_DIST += t/unit/unit.h

t_unit_common_channel_test_SOURCES = t/unit/common/channel_test.c
t_unit_common_channel_test_LDADD = $(COMMON_TEST_LIBS)
t_unit_common_clock_test_SOURCES = t/unit/common/clock_test.c
t_unit_common_clock_test_LDADD = $(COMMON_TEST_LIBS)
t_unit_common_conf_test_SOURCES = t/unit/common/conf_test.c
t_unit_common_conf_test_LDADD = $(COMMON_TEST_LIBS)
t_unit_common_err_test_SOURCES = t/unit/common/err_test.c
t_unit_common_err_test_LDADD = $(COMMON_TEST_LIBS)
t_unit_common_id_test_SOURCES = t/unit/common/id_test.c
t_unit_common_id_test_LDADD = $(COMMON_TEST_LIBS)
t_unit_common_json_test_SOURCES = t/unit/common/json_test.c
t_unit_common_json_test_LDADD = $(COMMON_TEST_LIBS)
t_unit_common_log_test_SOURCES = t/unit/common/log_test.c
t_unit_common_log_test_LDADD = $(COMMON_TEST_LIBS)
t_unit_common_mem_test_SOURCES = t/unit/common/mem_test.c
t_unit_common_mem_test_LDADD = $(COMMON_TEST_LIBS)
t_unit_common_str_test_SOURCES = t/unit/common/str_test.c
t_unit_common_str_test_LDADD = $(COMMON_TEST_LIBS)
t_unit_common_token_test_SOURCES = t/unit/common/token_test.c
t_unit_common_token_test_LDADD = $(COMMON_TEST_LIBS)
t_unit_common_utf8_test_SOURCES = t/unit/common/utf8_test.c
t_unit_common_utf8_test_LDADD = $(COMMON_TEST_LIBS)
