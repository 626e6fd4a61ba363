sbin_PROGRAMS += sandlease-egress

EXTRA_DIST += src/egress/README.md src/egress/base/README.md src/egress/serve/README.md

noinst_LIBRARIES += libegress.a
libegress_a_SOURCES = \
	src/egress/base/authority.c src/egress/base/authority.h \
	src/egress/base/dns.c src/egress/base/dns.h \
	src/egress/base/loop.c src/egress/base/loop.h \
	src/egress/base/resolver.c src/egress/base/resolver.h \
	src/egress/base/ruleset.c src/egress/base/ruleset.h \
	src/egress/base/sni.c src/egress/base/sni.h \
	src/egress/base/standin.c src/egress/base/standin.h \
	src/egress/serve/budget.c \
	src/egress/serve/conn.c \
	src/egress/serve/deny.c \
	src/egress/serve/end.c \
	src/egress/serve/hello.c \
	src/egress/serve/http.c src/egress/serve/http.h \
	src/egress/serve/line.c \
	src/egress/serve/listener.c \
	src/egress/serve/look.c \
	src/egress/serve/names.c \
	src/egress/serve/policy.c \
	src/egress/serve/relay.c \
	src/egress/serve/serve.c src/egress/serve/serve.h \
	src/egress/serve/session.c \
	src/egress/serve/side.c src/egress/serve/side.h \
	src/egress/serve/target.c \
	src/egress/serve/tell.c \
	src/egress/serve/terminate.c \
	src/egress/serve/upstream.c \
	src/egress/serve/via.c \
	src/egress/attached.c \
	src/egress/authority_row.c \
	src/egress/body.c \
	src/egress/callers.c \
	src/egress/follow.c \
	src/egress/later.c \
	src/egress/process.h \
	src/egress/reports.c \
	src/egress/rows.c src/egress/rows.h \
	src/egress/told.c

sandlease_egress_SOURCES = src/egress/main.c
sandlease_egress_LDADD = libegress.a libcontrol.a libprovider.a libstore.a libdomain.a libweb.a $(LIBCOMMON) \
	$(PQ_LIBS) $(HTTP_PARSER_LIBS) $(CARES_LIBS) $(OPENSSL_LIBS) $(NFTNL_LIBS) -lresolv
sandlease_egress_LDFLAGS = $(AM_LDFLAGS) $(PIE_LDFLAGS)

dist_man_MANS += src/egress/sandlease-egress.8
