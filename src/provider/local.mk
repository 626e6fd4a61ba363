## provider: see src/README.md

noinst_LIBRARIES += libprovider.a

libprovider_a_SOURCES = \
	src/provider/agent_link.c src/provider/agent_link.h \
	src/provider/agent_many.c \
	src/provider/agent_socket.c src/provider/agent_wire.h \
	src/provider/agent_usage.c src/provider/agent_usage.h \
	src/provider/box.c src/provider/box.h \
	src/provider/box_log.c \
	src/provider/cgroup.c src/provider/cgroup.h \
	src/provider/cgroup_find.c \
	src/provider/cgroup_freeze.c \
	src/provider/cgroup_job.c \
	src/provider/cgroup_procs.c \
	src/provider/cgroup_v1.c \
	src/provider/cgroup_v2.c \
	src/provider/fake.c src/provider/fake.h \
	src/provider/fake_agent.c src/provider/fake_world.h \
	src/provider/fake_disk.c \
	src/provider/fake_ops.c \
	src/provider/fake_snapshot.c \
	src/provider/faulty.h \
	src/provider/file.c src/provider/file.h \
	src/provider/job.c src/provider/job.h \
	src/provider/local.c src/provider/local.h \
	src/provider/local_bwrap.c src/provider/local_bwrap.h \
	src/provider/local_disk.c \
	src/provider/local_end.c \
	src/provider/local_ensure.c \
	src/provider/local_freeze.c \
	src/provider/local_open.c \
	src/provider/local_parts.c \
	src/provider/local_seen.c \
	src/provider/local_start.c src/provider/local_start.h \
	src/provider/local_suspend.c \
	src/provider/proc.c src/provider/proc.h \
	src/provider/provider.c src/provider/provider.h \
	src/provider/record.c src/provider/record.h \
	src/provider/rootfs.c src/provider/rootfs.h \
	src/provider/snapshot.c src/provider/snapshot.h \
	src/provider/storage.c src/provider/storage.h src/provider/storage_id.c \
	src/provider/trash.c src/provider/trash.h

if FAULTS
libprovider_a_SOURCES += src/provider/faulty.c
endif
