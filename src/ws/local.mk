## ws: see src/README.md

EXTRA_DIST += src/ws/README.md

dist_man_MANS += src/ws/sandlease-ws.8

libexec_PROGRAMS += sandlease-ws
sandlease_ws_SOURCES = \
	src/ws/link.c src/ws/link.h \
	src/ws/main.c \
	src/ws/request.c src/ws/request.h \
	src/ws/service.c src/ws/service.h \
	src/agent/base/sanitizers.c
sandlease_ws_CPPFLAGS = $(AM_CPPFLAGS) $(WEBSOCKETS_CFLAGS)
## Static like the agent.  A program of its own, because libwebsockets brings
## OpenSSL with it and would make the agent too large.
sandlease_ws_LDADD = libcommon.a $(WEBSOCKETS_LIBS) -lssl -lcrypto -lcap -lz \
	$(JANSSON_LIBS) -lpthread
sandlease_ws_LDFLAGS = $(sandlease_agent_LDFLAGS)
