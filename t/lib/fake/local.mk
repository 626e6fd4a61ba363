## t/lib/fake: a provider in memory, linked with tests and with nothing else

check_LIBRARIES += libfake.a
libfake_a_SOURCES = \
	t/lib/fake/agent.c \
	t/lib/fake/disk.c \
	t/lib/fake/fake.c t/lib/fake/fake.h \
	t/lib/fake/ops.c \
	t/lib/fake/snapshot.c \
	t/lib/fake/usage.c \
	t/lib/fake/world.h
