## unit tests of src/web

UNIT += t/unit/web/call_test t/unit/web/records_test t/unit/web/reply_test \
	t/unit/web/router_test t/unit/web/server_test t/unit/web/sse_test
WEB_TEST_LIBS = libweb.a $(LIBCOMMON) $(FCGI_LIBS) $(CMOCKA_LIBS)
EXTRA_DIST += t/unit/web/fake_io.h

t_unit_web_call_test_SOURCES = t/unit/web/call_test.c
t_unit_web_call_test_LDADD = $(WEB_TEST_LIBS)
t_unit_web_records_test_SOURCES = t/unit/web/records_test.c
t_unit_web_records_test_LDADD = $(WEB_TEST_LIBS)
t_unit_web_reply_test_SOURCES = t/unit/web/reply_test.c
t_unit_web_reply_test_LDADD = $(WEB_TEST_LIBS)
t_unit_web_router_test_SOURCES = t/unit/web/router_test.c
t_unit_web_router_test_LDADD = $(WEB_TEST_LIBS)
t_unit_web_server_test_SOURCES = t/unit/web/server_test.c
t_unit_web_server_test_LDADD = $(WEB_TEST_LIBS)
t_unit_web_sse_test_SOURCES = t/unit/web/sse_test.c
t_unit_web_sse_test_LDADD = $(WEB_TEST_LIBS)
