EXTRA_DIST += src/egress/README.md src/egress/base/README.md

noinst_LIBRARIES += libegress.a
libegress_a_SOURCES = \
	src/egress/base/address.c src/egress/base/address.h \
	src/egress/base/dns.c src/egress/base/dns.h \
	src/egress/base/loop.c src/egress/base/loop.h \
	src/egress/base/resolver.c src/egress/base/resolver.h \
	src/egress/base/sni.c src/egress/base/sni.h \
	src/egress/base/standin.c src/egress/base/standin.h
