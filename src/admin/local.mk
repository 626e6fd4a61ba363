sbin_PROGRAMS += sandlease-admin

EXTRA_DIST += src/admin/README.md

sandlease_admin_SOURCES = \
	src/admin/admin.h \
	src/admin/args.c src/admin/args.h \
	src/admin/cmd_class.c \
	src/admin/cmd_drain.c \
	src/admin/cmd_host.c \
	src/admin/cmd_key.c \
	src/admin/cmd_lease.c \
	src/admin/cmd_look.c \
	src/admin/cmd_org.c \
	src/admin/cmd_preset.c \
	src/admin/cmd_profile.c \
	src/admin/cmd_rootfs.c \
	src/admin/cmd_schema.c \
	src/admin/cmd_session.c \
	src/admin/cmd_snapshot.c \
	src/admin/cmd_warm.c \
	src/admin/command.c src/admin/command.h \
	src/admin/commands.c src/admin/commands.h \
	src/admin/list.c src/admin/list.h \
	src/admin/main.c \
	src/admin/network_spec.c src/admin/network_spec.h
sandlease_admin_LDADD = libcontrol.a libprovider.a libstore.a libdomain.a $(LIBCOMMON) $(PQ_LIBS)
sandlease_admin_LDFLAGS = $(AM_LDFLAGS) $(PIE_LDFLAGS)

dist_man_MANS += src/admin/sandlease-admin.8
