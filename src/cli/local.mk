bin_PROGRAMS += sandlease

sandlease_SOURCES = \
	src/cli/client.c src/cli/client.h \
	src/cli/cmd_doctor.c src/cli/commands.h \
	src/cli/main.c
sandlease_LDADD = $(LIBCOMMON) $(CURL_LIBS)
sandlease_LDFLAGS = $(AM_LDFLAGS) $(PIE_LDFLAGS)

dist_man_MANS += src/cli/sandlease.1
