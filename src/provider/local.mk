## provider: see src/README.md

EXTRA_DIST += src/provider/README.md src/provider/box/README.md \
	src/provider/cgroup/README.md src/provider/choose/README.md src/provider/host/README.md \
	src/provider/link/README.md src/provider/local/README.md src/provider/store/README.md

noinst_LIBRARIES += libprovider.a

libprovider_a_SOURCES = \
	src/provider/handle.h \
	src/provider/provider.c src/provider/provider.h \
	src/provider/box/box.c src/provider/box/box.h \
	src/provider/box/gone.c src/provider/box/gone.h \
	src/provider/box/log.c \
	src/provider/box/record.c src/provider/box/record.h \
	src/provider/cgroup/cgroup.c src/provider/cgroup/cgroup.h \
	src/provider/cgroup/find.c \
	src/provider/cgroup/freeze.c \
	src/provider/cgroup/job.c \
	src/provider/cgroup/procs.c \
	src/provider/cgroup/run.c \
	src/provider/cgroup/text.c \
	src/provider/cgroup/usage.c \
	src/provider/cgroup/v1.c \
	src/provider/cgroup/v2.c \
	src/provider/choose/choose.c src/provider/choose/choose.h \
	src/provider/choose/faulty.h \
	src/provider/host/file.c src/provider/host/file.h \
	src/provider/host/proc.c src/provider/host/proc.h \
	src/provider/host/spawn.c src/provider/host/spawn.h \
	src/provider/host/trash.c src/provider/host/trash.h \
	src/provider/link/attempt.c src/provider/link/attempt.h \
	src/provider/link/link.c src/provider/link/link.h \
	src/provider/link/load.c src/provider/link/load.h \
	src/provider/link/many.c \
	src/provider/link/name.c \
	src/provider/link/socket.c \
	src/provider/link/disk_usage.c src/provider/link/disk_usage.h \
	src/provider/link/wire.h \
	src/provider/local/bwrap.c src/provider/local/bwrap.h \
	src/provider/local/disk.c \
	src/provider/local/end.c \
	src/provider/local/ensure.c \
	src/provider/local/freeze.c \
	src/provider/local/local.c src/provider/local/local.h \
	src/provider/local/open.c \
	src/provider/local/parts.c \
	src/provider/local/path.c \
	src/provider/local/seen.c \
	src/provider/local/start.c src/provider/local/start.h \
	src/provider/local/suspend.c \
	src/provider/store/artifact.c src/provider/store/artifact.h \
	src/provider/local/usage.c \
	src/provider/store/copy.c src/provider/store/copy.h \
	src/provider/store/job.c src/provider/store/job.h \
	src/provider/store/rootfs.c src/provider/store/rootfs.h \
	src/provider/store/snapshot.c src/provider/store/snapshot.h \
	src/provider/store/storage.c src/provider/store/storage.h \
	src/provider/store/storage_id.c

if FAULTS
libprovider_a_SOURCES += src/provider/choose/faulty.c
endif
