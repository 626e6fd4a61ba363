## agent: see src/README.md

dist_man_MANS += src/agent/sandlease-agent.8

AGENT_SOURCES = \
	src/agent/activity.c src/agent/activity.h \
	src/agent/api_archive.c \
	src/agent/api_backup.c \
	src/agent/api_code.c \
	src/agent/api_content.c \
	src/agent/api_context.c \
	src/agent/answers.c src/agent/answers.h \
	src/agent/api_execute.c \
	src/agent/api_execution.c \
	src/agent/api_files.c \
	src/agent/api_raw.c \
	src/agent/api_ports.c \
	src/agent/api_process.c src/agent/api_process_input.c \
	src/agent/api_process_logs.c \
	src/agent/api_session.c \
	src/agent/api_git.c \
	src/agent/api_terminal.c \
	src/agent/api_terminal_stream.c \
	src/agent/backup.c src/agent/backup.h \
	src/agent/backup_error.c src/agent/backup_internal.h \
	src/agent/backup_path.c src/agent/backup_path.h \
	src/agent/backup_restore.c \
	src/agent/api_watch.c \
	src/agent/base64.c src/agent/base64.h \
	src/agent/bigjson.c src/agent/bigjson.h \
	src/agent/blocks.c src/agent/blocks.h \
	src/agent/capability.c src/agent/capability.h \
	src/agent/cell.c src/agent/cell.h \
	src/agent/cell_init.c src/agent/cell_init.h \
	src/agent/cell_root.c src/agent/cell_root.h \
	src/agent/cells.c src/agent/cells.h \
	src/agent/collected.c src/agent/collected.h \
	src/agent/context.c src/agent/context.h \
	src/agent/clone.c src/agent/clone.h \
	src/agent/cgroup_view.c src/agent/cgroup_view.h \
	src/agent/changes.c src/agent/changes.h \
	src/agent/copy.c src/agent/copy.h \
	src/agent/drain.c src/agent/drain.h \
	src/agent/draft.c src/agent/draft.h \
	src/agent/entity.c src/agent/entity.h \
	src/agent/ending.c src/agent/ending.h \
	src/agent/envset.c src/agent/envset.h \
	src/agent/notice.c src/agent/notice.h \
	src/agent/exec.c src/agent/exec.h \
	src/agent/execution.c src/agent/execution.h \
	src/agent/files.c src/agent/files.h \
	src/agent/freezer.c src/agent/freezer.h \
	src/agent/git.c src/agent/git.h \
	src/agent/git_error.c src/agent/git_error.h \
	src/agent/git_url.c src/agent/git_url.h \
	src/agent/gitconfig.c src/agent/gitconfig.h \
	src/agent/glob.c src/agent/glob.h \
	src/agent/ignored.c src/agent/ignored.h \
	src/agent/init.c src/agent/init.h \
	src/agent/init_ops.c \
	src/agent/interrupt.c src/agent/interrupt.h \
	src/agent/kernel.c src/agent/kernel.h \
	src/agent/kernel_start.c \
	src/agent/kernel_talk.c src/agent/kernel_talk.h \
	src/agent/kernel_text.c src/agent/kernel_text.h \
	src/agent/keep.c src/agent/keep.h \
	src/agent/launch.c src/agent/launch.h \
	src/agent/limits_view.c src/agent/limits_view.h \
	src/agent/lines.c src/agent/lines.h \
	src/agent/listing.c src/agent/listing.h \
	src/agent/loop.c src/agent/loop.h \
	src/agent/loopback.c src/agent/loopback.h \
	src/agent/markers.c src/agent/markers.h \
	src/agent/mime.c src/agent/mime.h \
	src/agent/move.c src/agent/move.h \
	src/agent/once.c src/agent/once.h \
	src/agent/omit.c src/agent/omit.h \
	src/agent/pack.c src/agent/pack.h \
	src/agent/path_list.c src/agent/path_list.h \
	src/agent/port_probe.c src/agent/port_probe.h \
	src/agent/process.c src/agent/process.h \
	src/agent/process_act.c src/agent/process_input.c src/agent/process_internal.h \
	src/agent/process_run.c \
	src/agent/process_start.c \
	src/agent/process_store.c src/agent/process_store.h \
	src/agent/procmem.c src/agent/procmem.h \
	src/agent/proctree.c src/agent/proctree.h \
	src/agent/pty.c src/agent/pty.h \
	src/agent/pty_act.c src/agent/pty_internal.h \
	src/agent/pty_run.c \
	src/agent/pty_start.c \
	src/agent/pump.c src/agent/pump.h \
	src/agent/rawpath.c src/agent/rawpath.h \
	src/agent/relay.c src/agent/relay.h \
	src/agent/relay_conn.c src/agent/relay_conn.h \
	src/agent/relay_copy.c src/agent/relay_internal.h \
	src/agent/relay_page.c src/agent/relay_page.h \
	src/agent/relay_request.c src/agent/relay_request.h \
	src/agent/ring.c src/agent/ring.h \
	src/agent/routes.c src/agent/routes.h \
	src/agent/scene.c src/agent/scene.h \
	src/agent/script.c src/agent/script.h \
	src/agent/session_end.c src/agent/session_end.h \
	src/agent/seals.c src/agent/seals.h \
	src/agent/serve.c src/agent/serve.h \
	src/agent/setup.c src/agent/setup.h \
	src/agent/shell.c src/agent/shell.h \
	src/agent/shell_internal.h \
	src/agent/shell_proc.c src/agent/shell_proc.h \
	src/agent/shell_run.c \
	src/agent/shell_state.c \
	src/agent/sigstate.c src/agent/sigstate.h \
	src/agent/spawn.c src/agent/spawn.h \
	src/agent/swap.c src/agent/swap.h \
	src/agent/sysfilter.c src/agent/sysfilter.h \
	src/agent/target.c src/agent/target.h \
	src/agent/tree.c src/agent/tree.h \
	src/agent/unpack.c \
	src/agent/treeend.c src/agent/treeend.h \
	src/agent/usage.c src/agent/usage.h \
	src/agent/view.c src/agent/view.h \
	src/agent/walk.c src/agent/walk.h \
	src/agent/watch.c src/agent/watch.h \
	src/agent/watch_dir.c \
	src/agent/watch_events.c src/agent/watch_internal.h \
	src/agent/watch_tree.c \
	src/agent/watchdog.c src/agent/watchdog.h \
	src/agent/worker.c src/agent/worker.h \
	src/agent/wrapper.c src/agent/wrapper.h \
	src/agent/wrapper_ops.c \
	src/agent/ws.c src/agent/ws.h \
	src/agent/ws_answer.c src/agent/ws_answer.h \
	src/agent/ws_body.c src/agent/ws_body.h \
	src/agent/ws_call.c src/agent/ws_call.h \
	src/agent/ws_conn.c src/agent/ws_conn.h \
	src/agent/ws_door.c src/agent/ws_door.h \
	src/agent/ws_events.c src/agent/ws_events.h \
	src/agent/ws_mux.c \
	src/agent/ws_pty.c \
	src/agent/ws_request.c src/agent/ws_request.h

noinst_LIBRARIES += libagent.a
libagent_a_SOURCES = $(AGENT_SOURCES)
nodist_libagent_a_SOURCES = $(SYSFILTER_TABLES)

## Filters are made while we are built, by a program that is not installed.
SYSFILTER_TABLES = src/agent/sysfilter_table.h \
	src/agent/sysfilter_root_table.h
noinst_PROGRAMS += sysfilter_gen
sysfilter_gen_SOURCES = src/agent/sysfilter_gen.c
sysfilter_gen_LDADD = $(SECCOMP_LIBS)
BUILT_SOURCES += $(SYSFILTER_TABLES)
CLEANFILES += $(SYSFILTER_TABLES)
src/agent/sysfilter_table.h: sysfilter_gen$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) $(@D) && ./sysfilter_gen > $@-t && mv $@-t $@
src/agent/sysfilter_root_table.h: sysfilter_gen$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) $(@D) && ./sysfilter_gen root > $@-t && mv $@-t $@
## for `make sandlease-agent` alone, which BUILT_SOURCES does not serve
src/agent/sysfilter.$(OBJEXT): $(SYSFILTER_TABLES)

## What kernels run is taken in by the assembler, which automake does not see.
KERNEL_TEXTS = src/agent/kernel_python.py src/agent/kernel_notebook.py \
	src/agent/kernel_node.js
EXTRA_DIST += $(KERNEL_TEXTS)
src/agent/kernel_text.$(OBJEXT): $(KERNEL_TEXTS)

libexec_PROGRAMS += sandlease-agent
sandlease_agent_SOURCES = src/agent/main.c src/agent/sanitizers.c
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

