## unit tests of src/cli

if HAVE_CMOCKA
CLI_UNIT_LIBS = libcli.a $(LIBCOMMON) $(CURL_LIBS) $(check_LIBS)

UNIT += t/unit/cli/args_test
t_unit_cli_args_test_SOURCES = t/unit/cli/args_test.c
t_unit_cli_args_test_LDADD = $(CLI_UNIT_LIBS)

UNIT += t/unit/cli/config_test
t_unit_cli_config_test_SOURCES = t/unit/cli/config_test.c
t_unit_cli_config_test_LDADD = $(CLI_UNIT_LIBS)

UNIT += t/unit/cli/escape_test
t_unit_cli_escape_test_SOURCES = t/unit/cli/escape_test.c
t_unit_cli_escape_test_LDADD = $(CLI_UNIT_LIBS)

UNIT += t/unit/cli/quote_test
t_unit_cli_quote_test_SOURCES = t/unit/cli/quote_test.c
t_unit_cli_quote_test_LDADD = $(CLI_UNIT_LIBS)

UNIT += t/unit/cli/replay_test
t_unit_cli_replay_test_SOURCES = t/unit/cli/replay_test.c
t_unit_cli_replay_test_LDADD = $(CLI_UNIT_LIBS)

UNIT += t/unit/cli/show_test
t_unit_cli_show_test_SOURCES = t/unit/cli/show_test.c
t_unit_cli_show_test_LDADD = $(CLI_UNIT_LIBS)

UNIT += t/unit/cli/sse_test
t_unit_cli_sse_test_SOURCES = t/unit/cli/sse_test.c
t_unit_cli_sse_test_LDADD = $(CLI_UNIT_LIBS)

UNIT += t/unit/cli/stream_test
t_unit_cli_stream_test_SOURCES = t/unit/cli/stream_test.c
t_unit_cli_stream_test_LDADD = $(CLI_UNIT_LIBS)
endif
