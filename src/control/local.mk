noinst_LIBRARIES += libcontrol.a

EXTRA_DIST += src/control/README.md

libcontrol_a_SOURCES = \
	src/control/adopt.c src/control/adopt.h \
	src/control/awake.c src/control/awake.h \
	src/control/capacity.c src/control/capacity.h \
	src/control/cell_control.c src/control/cell_control.h \
	src/control/control.c src/control/control.h \
	src/control/discover.c src/control/discover.h \
	src/control/disk.c src/control/disk.h src/control/disk_account.c \
	src/control/evidence.c src/control/evidence.h \
	src/control/execution_artifact.c src/control/execution_artifact.h \
	src/control/execution_control.c src/control/execution_control.h src/control/execution_create.c \
	src/control/execution_give.c src/control/execution_give.h \
	src/control/execution_keep.c src/control/execution_keep.h \
	src/control/finish.c src/control/finish.h \
	src/control/launch_diff.c src/control/launch_diff.h \
	src/control/interrupt_control.c src/control/interrupt_control.h \
	src/control/inventory.c src/control/inventory.h \
	src/control/keys_control.c src/control/keys_control.h \
	src/control/launch.c src/control/launch.h \
	src/control/network_control.c src/control/network_control.h \
	src/control/network_link.c src/control/network_link.h \
	src/control/network_trust.c src/control/network_trust.h \
	src/control/outcome.c src/control/outcome.h \
	src/control/preview_control.c src/control/preview_control.h \
	src/control/relay_control.c src/control/relay_control.h \
	src/control/rootfs_control.c src/control/rootfs_control.h \
	src/control/sandbox_control.c src/control/sandbox_control.h \
	src/control/create.c src/control/create.h \
	src/control/session_control.c src/control/session_control.h \
	src/control/setup.c src/control/setup.h \
	src/control/snapshot_control.c src/control/snapshot_control.h \
	src/control/snapshot_ref.c src/control/snapshot_ref.h \
	src/control/start.c src/control/start.h \
	src/control/start_error.c src/control/start_error.h \
	src/control/statistics.c src/control/statistics.h \
	src/control/steps.c src/control/steps.h \
	src/control/stop.c src/control/stop.h \
	src/control/storage_adopt.c src/control/storage_adopt.h \
	src/control/storage_claim.c src/control/storage_claim.h \
	src/control/suspend.c src/control/suspend.h \
	src/control/trigger_control.c src/control/trigger_control.h \
	src/control/waiter.c src/control/waiter.h \
	src/control/warm.c src/control/warm.h \
	src/control/wave.c src/control/wave.h \
	src/control/webhook_control.c src/control/webhook_control.h
