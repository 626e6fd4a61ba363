## launch: see src/README.md

EXTRA_DIST += src/launch/README.md

dist_man_MANS += src/launch/sandlease-launch.8

## Static and without any library: it starts once for each sandbox.
libexec_PROGRAMS += sandlease-launch
sandlease_launch_SOURCES = \
	src/launch/launch.h \
	src/launch/main.c \
	src/launch/mounts.c \
	src/launch/plan.c \
	src/launch/say.c \
	src/launch/user.c
sandlease_launch_LDADD =
sandlease_launch_LDFLAGS = $(sandlease_agent_LDFLAGS)
