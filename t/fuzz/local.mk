## fuzz targets; without libFuzzer they replay their corpus

## ./dev fuzz says FUZZ_MAIN= LIBFUZZER=-fsanitize=fuzzer
FUZZ_MAIN = libreplay.a
LIBFUZZER =
check_LIBRARIES += libreplay.a libfakecall.a
libreplay_a_SOURCES = t/fuzz/replay.c t/fuzz/fuzz.h
libfakecall_a_SOURCES = t/fuzz/fake_call.c

FUZZ = t/fuzz/answers t/fuzz/authority t/fuzz/base64 t/fuzz/dns t/fuzz/giturl \
	t/fuzz/glob t/fuzz/httprequest t/fuzz/network t/fuzz/output t/fuzz/range \
	t/fuzz/records t/fuzz/reply t/fuzz/request t/fuzz/schedule t/fuzz/sni t/fuzz/sse t/fuzz/text \
	t/fuzz/websocket t/fuzz/wsgate
UNIT += $(FUZZ)

fuzz-targets: $(BUILT_SOURCES)
	$(MAKE) $(AM_MAKEFLAGS) $(FUZZ)
.PHONY: fuzz-targets
EXTRA_DIST += t/fuzz/corpus t/fuzz/run
