## unit tests of src/api

UNIT += t/unit/api/access_test t/unit/api/answer_test t/unit/api/keys_body_test \
	t/unit/api/openapi_test t/unit/api/session_body_test t/unit/api/share_test \
	t/unit/api/stream_link_test t/unit/api/ticket_test
API_TEST_LIBS = libapi.a libcontrol.a libprovider.a libstore.a libdomain.a libweb.a \
	$(LIBCOMMON) $(FCGI_LIBS) $(PQ_LIBS) $(CMOCKA_LIBS)

t_unit_api_access_test_SOURCES = t/unit/api/access_test.c
t_unit_api_access_test_LDADD = $(API_TEST_LIBS)
t_unit_api_answer_test_SOURCES = t/unit/api/answer_test.c
t_unit_api_answer_test_LDADD = $(API_TEST_LIBS)
t_unit_api_keys_body_test_SOURCES = t/unit/api/keys_body_test.c
t_unit_api_keys_body_test_LDADD = $(API_TEST_LIBS)
t_unit_api_openapi_test_SOURCES = t/unit/api/openapi_test.c
t_unit_api_openapi_test_LDADD = $(API_TEST_LIBS)
t_unit_api_session_body_test_SOURCES = t/unit/api/session_body_test.c
t_unit_api_session_body_test_LDADD = $(API_TEST_LIBS)
t_unit_api_share_test_SOURCES = t/unit/api/share_test.c
t_unit_api_share_test_LDADD = $(API_TEST_LIBS)
t_unit_api_share_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=clock_ms
t_unit_api_stream_link_test_SOURCES = t/unit/api/stream_link_test.c
t_unit_api_stream_link_test_LDADD = $(API_TEST_LIBS)
t_unit_api_ticket_test_SOURCES = t/unit/api/ticket_test.c
t_unit_api_ticket_test_LDADD = $(API_TEST_LIBS)
