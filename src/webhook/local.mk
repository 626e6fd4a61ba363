noinst_LIBRARIES += libwebhook.a

EXTRA_DIST += src/webhook/README.md

libwebhook_a_SOURCES = \
	src/webhook/posts.c src/webhook/posts.h \
	src/webhook/sender.c src/webhook/sender.h \
	src/webhook/signature.c src/webhook/signature.h
