## fuzz targets; without libFuzzer they replay their corpus

## ./dev fuzz says FUZZ_MAIN= LIBFUZZER=-fsanitize=fuzzer
FUZZ_MAIN = libreplay.a
LIBFUZZER =
FUZZ_LIBS = libfakecall.a libagent.a libweb.a libcommon.a \
	$(FCGI_LIBS) $(JANSSON_LIBS) $(SODIUM_LIBS) -lpthread
FUZZ_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/t/fuzz

check_LIBRARIES = libreplay.a libfakecall.a
libreplay_a_SOURCES = t/fuzz/replay.c t/fuzz/fuzz.h
libreplay_a_CPPFLAGS = $(FUZZ_CPPFLAGS)
libfakecall_a_SOURCES = t/fuzz/fake_call.c
libfakecall_a_CPPFLAGS = $(FUZZ_CPPFLAGS)

FUZZ = t/fuzz/answers t/fuzz/base64 t/fuzz/giturl t/fuzz/glob t/fuzz/range \
	t/fuzz/records t/fuzz/request t/fuzz/sse t/fuzz/text t/fuzz/websocket
UNIT += $(FUZZ)

t_fuzz_answers_SOURCES = t/fuzz/answers.c
t_fuzz_answers_CPPFLAGS = $(FUZZ_CPPFLAGS)
t_fuzz_answers_LDFLAGS = $(AM_LDFLAGS) $(LIBFUZZER)
t_fuzz_answers_LDADD = $(FUZZ_MAIN) $(FUZZ_LIBS)

t_fuzz_base64_SOURCES = t/fuzz/base64.c
t_fuzz_base64_CPPFLAGS = $(FUZZ_CPPFLAGS)
t_fuzz_base64_LDFLAGS = $(AM_LDFLAGS) $(LIBFUZZER)
t_fuzz_base64_LDADD = $(FUZZ_MAIN) $(FUZZ_LIBS)

t_fuzz_giturl_SOURCES = t/fuzz/giturl.c
t_fuzz_giturl_CPPFLAGS = $(FUZZ_CPPFLAGS)
t_fuzz_giturl_LDFLAGS = $(AM_LDFLAGS) $(LIBFUZZER)
t_fuzz_giturl_LDADD = $(FUZZ_MAIN) $(FUZZ_LIBS)

t_fuzz_glob_SOURCES = t/fuzz/glob.c
t_fuzz_glob_CPPFLAGS = $(FUZZ_CPPFLAGS)
t_fuzz_glob_LDFLAGS = $(AM_LDFLAGS) $(LIBFUZZER)
t_fuzz_glob_LDADD = $(FUZZ_MAIN) $(FUZZ_LIBS)

t_fuzz_range_SOURCES = t/fuzz/range.c
t_fuzz_range_CPPFLAGS = $(FUZZ_CPPFLAGS)
t_fuzz_range_LDFLAGS = $(AM_LDFLAGS) $(LIBFUZZER)
t_fuzz_range_LDADD = $(FUZZ_MAIN) $(FUZZ_LIBS)

t_fuzz_records_SOURCES = t/fuzz/records.c
t_fuzz_records_CPPFLAGS = $(FUZZ_CPPFLAGS)
t_fuzz_records_LDFLAGS = $(AM_LDFLAGS) $(LIBFUZZER)
t_fuzz_records_LDADD = $(FUZZ_MAIN) $(FUZZ_LIBS)

t_fuzz_request_SOURCES = t/fuzz/request.c
t_fuzz_request_CPPFLAGS = $(FUZZ_CPPFLAGS)
t_fuzz_request_LDFLAGS = $(AM_LDFLAGS) $(LIBFUZZER)
t_fuzz_request_LDADD = $(FUZZ_MAIN) $(FUZZ_LIBS)

t_fuzz_sse_SOURCES = t/fuzz/sse.c
t_fuzz_sse_CPPFLAGS = $(FUZZ_CPPFLAGS)
t_fuzz_sse_LDFLAGS = $(AM_LDFLAGS) $(LIBFUZZER)
t_fuzz_sse_LDADD = $(FUZZ_MAIN) libcli.a $(FUZZ_LIBS)

t_fuzz_text_SOURCES = t/fuzz/text.c
t_fuzz_text_CPPFLAGS = $(FUZZ_CPPFLAGS)
t_fuzz_text_LDFLAGS = $(AM_LDFLAGS) $(LIBFUZZER)
t_fuzz_text_LDADD = $(FUZZ_MAIN) $(FUZZ_LIBS)

t_fuzz_websocket_SOURCES = t/fuzz/websocket.c
t_fuzz_websocket_CPPFLAGS = $(FUZZ_CPPFLAGS)
t_fuzz_websocket_LDFLAGS = $(AM_LDFLAGS) $(LIBFUZZER)
t_fuzz_websocket_LDADD = $(FUZZ_MAIN) $(FUZZ_LIBS)

fuzz-targets: $(BUILT_SOURCES)
	$(MAKE) $(AM_MAKEFLAGS) $(FUZZ)
.PHONY: fuzz-targets
EXTRA_DIST += t/fuzz/corpus t/fuzz/run
