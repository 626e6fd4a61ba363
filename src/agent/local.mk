## agent: see src/README.md

EXTRA_DIST += src/agent/README.md src/agent/api/README.md src/agent/archive/README.md src/agent/attempt/README.md \
	src/agent/base/README.md src/agent/cell/README.md src/agent/child/README.md \
	src/agent/code/README.md src/agent/files/README.md src/agent/git/README.md \
	src/agent/init/README.md src/agent/process/README.md src/agent/pty/README.md \
	src/agent/relay/README.md src/agent/run/README.md src/agent/shell/README.md \
	src/agent/watch/README.md src/agent/wrapper/README.md src/agent/ws/README.md

dist_man_MANS += src/agent/sandlease-agent.8

AGENT_SOURCES = \
	src/agent/api/archive.c src/agent/api/attempt_stream.c \
	src/agent/api/backup.c \
	src/agent/api/code.c \
	src/agent/api/collected.c src/agent/api/collected.h \
	src/agent/api/content.c \
	src/agent/api/context.c \
	src/agent/api/execute.c \
	src/agent/api/execution.c \
	src/agent/api/files.c \
	src/agent/api/git.c \
	src/agent/api/listing.c src/agent/api/listing.h \
	src/agent/api/once.c src/agent/api/once.h \
	src/agent/api/ports.c \
	src/agent/api/process.c \
	src/agent/api/process_input.c \
	src/agent/api/process_logs.c \
	src/agent/api/raw.c \
	src/agent/api/rawpath.c src/agent/api/rawpath.h \
	src/agent/api/routes.c src/agent/api/routes.h \
	src/agent/api/request.c src/agent/api/request.h \
	src/agent/api/session.c \
	src/agent/api/setup.c src/agent/api/setup.h \
	src/agent/api/target.c src/agent/api/target.h \
	src/agent/api/terminal.c \
	src/agent/api/terminal_stream.c \
	src/agent/api/watch.c \
	src/agent/archive/backup.c src/agent/archive/backup.h \
	src/agent/archive/backup_error.c \
	src/agent/archive/backup_internal.h \
	src/agent/archive/backup_path.c src/agent/archive/backup_path.h \
	src/agent/archive/backup_restore.c \
	src/agent/archive/snapshot_import.c src/agent/archive/snapshot_import.h \
	src/agent/archive/ignored.c src/agent/archive/ignored.h \
	src/agent/archive/snapshot_export.c src/agent/archive/snapshot_export.h \
	src/agent/archive/omit.c src/agent/archive/omit.h \
	src/agent/archive/pack.c src/agent/archive/pack.h \
	src/agent/archive/unpack.c \
	src/agent/attempt/attempt.h \
	src/agent/attempt/collect.c src/agent/attempt/disk.c src/agent/attempt/follow.c src/agent/attempt/given.c src/agent/attempt/read.c \
	src/agent/attempt/internal.h \
	src/agent/attempt/journal.c src/agent/attempt/journal.h \
	src/agent/attempt/meter.c src/agent/attempt/meter.h \
	src/agent/attempt/queue.c \
	src/agent/attempt/run.c \
	src/agent/attempt/shared.c \
	src/agent/attempt/spec.c \
	src/agent/base/bigjson.c src/agent/base/bigjson.h \
	src/agent/base/capability.c src/agent/base/capability.h \
	src/agent/base/drain.c src/agent/base/drain.h \
	src/agent/base/lines.c src/agent/base/lines.h \
	src/agent/base/lock.c src/agent/base/lock.h \
	src/agent/base/loop.c src/agent/base/loop.h \
	src/agent/base/loopback.c src/agent/base/loopback.h \
	src/agent/base/procload.c src/agent/base/procload.h \
	src/agent/base/procmem.c src/agent/base/procmem.h \
	src/agent/base/proctree.c src/agent/base/proctree.h \
	src/agent/base/ring.c src/agent/base/ring.h \
	src/agent/base/serve.c src/agent/base/serve.h \
	src/agent/base/sigstate.c src/agent/base/sigstate.h \
	src/agent/base/spawn.c src/agent/base/spawn.h \
	src/agent/base/sysfilter.c src/agent/base/sysfilter.h \
	src/agent/base/tree_end.c src/agent/base/tree_end.h \
	src/agent/cell/cell.c src/agent/cell/cell.h \
	src/agent/cell/cgroup_view.c src/agent/cell/cgroup_view.h \
	src/agent/cell/init.c src/agent/cell/init.h \
	src/agent/cell/launch.c src/agent/cell/launch.h \
	src/agent/cell/limits_view.c src/agent/cell/limits_view.h \
	src/agent/cell/rlimits.c src/agent/cell/rlimits.h \
	src/agent/cell/root.c src/agent/cell/root.h \
	src/agent/child/child.h \
	src/agent/child/end.c \
	src/agent/child/life.c \
	src/agent/child/table.c \
	src/agent/code/context.c src/agent/code/context.h \
	src/agent/code/kernel.c src/agent/code/kernel.h \
	src/agent/code/kernel_start.c \
	src/agent/code/kernel_talk.c src/agent/code/kernel_talk.h \
	src/agent/code/kernel_text.c src/agent/code/kernel_text.h \
	src/agent/files/blocks.c src/agent/files/blocks.h \
	src/agent/files/copy.c src/agent/files/copy.h \
	src/agent/files/temp_file.c src/agent/files/temp_file.h \
	src/agent/files/entity.c src/agent/files/entity.h \
	src/agent/files/files.c src/agent/files/files.h \
	src/agent/files/mime.c src/agent/files/mime.h \
	src/agent/files/record.c src/agent/files/record.h src/agent/files/secret_list.c src/agent/files/secret_list.h \
	src/agent/files/move.c src/agent/files/move.h \
	src/agent/files/swap.c src/agent/files/swap.h \
	src/agent/files/tree.c src/agent/files/tree.h \
	src/agent/files/view.c src/agent/files/view.h \
	src/agent/files/walk.c src/agent/files/walk.h \
	src/agent/git/config.c src/agent/git/config.h \
	src/agent/git/error.c src/agent/git/error.h \
	src/agent/git/git.c src/agent/git/git.h \
	src/agent/git/url.c src/agent/git/url.h \
	src/agent/init/cells.c src/agent/init/cells.h \
	src/agent/init/conn.c \
	src/agent/init/freezer.c src/agent/init/freezer.h \
	src/agent/init/init.c src/agent/init/init.h \
	src/agent/init/limit.c src/agent/init/limit.h \
	src/agent/init/load.c src/agent/init/load.h \
	src/agent/init/markers.c src/agent/init/markers.h \
	src/agent/init/network.c src/agent/init/network.h \
	src/agent/init/ops.c \
	src/agent/init/seals.c src/agent/init/seals.h \
	src/agent/init/disk_usage.c src/agent/init/disk_usage.h \
	src/agent/init/watchdog.c src/agent/init/watchdog.h \
	src/agent/process/act.c \
	src/agent/process/input.c \
	src/agent/process/internal.h \
	src/agent/process/process.c src/agent/process/process.h \
	src/agent/process/run.c \
	src/agent/process/start.c \
	src/agent/process/store.c src/agent/process/store.h \
	src/agent/pty/act.c \
	src/agent/pty/internal.h \
	src/agent/pty/pty.c src/agent/pty/pty.h \
	src/agent/pty/run.c \
	src/agent/pty/start.c \
	src/agent/relay/conn.c src/agent/relay/conn.h \
	src/agent/relay/copy.c \
	src/agent/relay/internal.h \
	src/agent/relay/page.c src/agent/relay/page.h \
	src/agent/relay/port_probe.c src/agent/relay/port_probe.h \
	src/agent/relay/relay.c src/agent/relay/relay.h \
	src/agent/relay/request.c src/agent/relay/request.h \
	src/agent/run/activity.c src/agent/run/activity.h \
	src/agent/run/ending.c src/agent/run/ending.h \
	src/agent/run/execution.c src/agent/run/execution.h \
	src/agent/run/interrupt.c src/agent/run/interrupt.h \
	src/agent/run/bash_notice.c src/agent/run/bash_notice.h \
	src/agent/run/pump.c src/agent/run/pump.h \
	src/agent/run/session_end.c src/agent/run/session_end.h \
	src/agent/run/helper.c src/agent/run/helper.h \
	src/agent/shell/answers.c src/agent/shell/answers.h \
	src/agent/shell/envset.c src/agent/shell/envset.h \
	src/agent/shell/exec.c src/agent/shell/exec.h \
	src/agent/shell/internal.h \
	src/agent/shell/life.c \
	src/agent/shell/path_list.c src/agent/shell/path_list.h \
	src/agent/shell/proc.c src/agent/shell/proc.h \
	src/agent/shell/run.c \
	src/agent/shell/script.c src/agent/shell/script.h \
	src/agent/shell/shell.c src/agent/shell/shell.h \
	src/agent/shell/state.c \
	src/agent/watch/changes.c src/agent/watch/changes.h \
	src/agent/watch/dir.c \
	src/agent/watch/events.c \
	src/agent/watch/internal.h \
	src/agent/watch/news.c \
	src/agent/watch/tree.c \
	src/agent/watch/watch.c src/agent/watch/watch.h \
	src/agent/wrapper/adopt.c src/agent/wrapper/adopt.h \
	src/agent/wrapper/keys.c src/agent/wrapper/keys.h \
	src/agent/wrapper/ops.c \
	src/agent/wrapper/trust.c src/agent/wrapper/trust.h \
	src/agent/wrapper/wrapper.c src/agent/wrapper/wrapper.h \
	src/agent/ws/answer.c src/agent/ws/answer.h \
	src/agent/ws/body.c src/agent/ws/body.h \
	src/agent/ws/call.c src/agent/ws/call.h \
	src/agent/ws/conn.c src/agent/ws/conn.h \
	src/agent/ws/door.c src/agent/ws/door.h \
	src/agent/ws/mux.c \
	src/agent/ws/pty.c \
	src/agent/ws/request.c src/agent/ws/request.h \
	src/agent/ws/ws.c src/agent/ws/ws.h

noinst_LIBRARIES += libagent.a
libagent_a_SOURCES = $(AGENT_SOURCES)
nodist_libagent_a_SOURCES = $(SYSFILTER_TABLES)

## Filters are made while we are built, by a program that is not installed.
SYSFILTER_TABLES = src/agent/base/sysfilter_table.h \
	src/agent/base/sysfilter_root_table.h
noinst_PROGRAMS += sysfilter_gen
sysfilter_gen_SOURCES = src/agent/base/sysfilter_gen.c
sysfilter_gen_LDADD = $(SECCOMP_LIBS)
BUILT_SOURCES += $(SYSFILTER_TABLES)
CLEANFILES += $(SYSFILTER_TABLES)
src/agent/base/sysfilter_table.h: sysfilter_gen$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) $(@D) && ./sysfilter_gen > $@-t && mv $@-t $@
src/agent/base/sysfilter_root_table.h: sysfilter_gen$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) $(@D) && ./sysfilter_gen root > $@-t && mv $@-t $@
## for `make sandlease-agent` alone, which BUILT_SOURCES does not serve
src/agent/base/sysfilter.$(OBJEXT): $(SYSFILTER_TABLES)

## What kernels run is taken in by the assembler, which automake does not see.
KERNEL_TEXTS = src/agent/code/kernel_python.py src/agent/code/kernel_notebook.py \
	src/agent/code/kernel_node.js
EXTRA_DIST += $(KERNEL_TEXTS)
src/agent/code/kernel_text.$(OBJEXT): $(KERNEL_TEXTS)

libexec_PROGRAMS += sandlease-agent
sandlease_agent_SOURCES = src/agent/wrapper/main.c src/agent/base/sanitizers.c
sandlease_agent_LDADD = libagent.a libweb.a libcommon.a \
	$(FCGI_LIBS) $(HTTP_PARSER_LIBS) $(JANSSON_LIBS) $(ARCHIVE_LIBS) $(AGENT_ARCHIVE) -lpthread
## Static, because it runs inside other root file systems than ours.
## Sanitizers cannot be linked so; that build is for unit tests and t/agent,
## whose sandboxes have the host's libraries.
if SANITIZE
sandlease_agent_LDFLAGS = $(AM_LDFLAGS)
else
sandlease_agent_LDFLAGS = $(AM_LDFLAGS) $(AGENT_STATIC)
## what is used of libarchive wants these three of the dozen it may want
AGENT_ARCHIVE = -lacl -lzstd -lz
endif
## -static-pie needs objects made for it (PIE_CFLAGS)
AGENT_STATIC = `if test -n '$(PIE_CFLAGS)'; then echo -static-pie; else echo -static; fi` -Wl,--gc-sections \
	-Wl,--compress-debug-sections=zlib

