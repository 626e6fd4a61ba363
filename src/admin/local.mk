sbin_PROGRAMS += sandlease-admin

sandlease_admin_SOURCES = \
	src/admin/admin.h \
	src/admin/cmd_drain.c \
	src/admin/cmd_key.c \
	src/admin/cmd_lease.c \
	src/admin/cmd_org.c \
	src/admin/cmd_rootfs.c \
	src/admin/cmd_schema.c \
	src/admin/main.c
sandlease_admin_LDADD = libcontrol.a libprovider.a libstore.a libdomain.a $(LIBCOMMON) $(PQ_LIBS)
sandlease_admin_LDFLAGS = $(AM_LDFLAGS) $(PIE_LDFLAGS)

dist_man_MANS += src/admin/sandlease-admin.8
