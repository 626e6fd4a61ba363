## unit tests of src/agent

if HAVE_CMOCKA
AGENT_UNIT_LIBS = libagent.a libweb.a libcommon.a \
	$(FCGI_LIBS) $(JANSSON_LIBS) $(SODIUM_LIBS) $(check_LIBS) -lpthread

UNIT += t/unit/agent/answers_test
t_unit_agent_answers_test_SOURCES = t/unit/agent/answers_test.c
t_unit_agent_answers_test_LDADD = $(AGENT_UNIT_LIBS)

UNIT += t/unit/agent/backup_path_test
t_unit_agent_backup_path_test_SOURCES = t/unit/agent/backup_path_test.c
t_unit_agent_backup_path_test_LDADD = $(AGENT_UNIT_LIBS)

UNIT += t/unit/agent/base64_test
t_unit_agent_base64_test_SOURCES = t/unit/agent/base64_test.c
t_unit_agent_base64_test_LDADD = $(AGENT_UNIT_LIBS)

UNIT += t/unit/agent/blocks_test
t_unit_agent_blocks_test_SOURCES = t/unit/agent/blocks_test.c
t_unit_agent_blocks_test_LDADD = $(AGENT_UNIT_LIBS)

UNIT += t/unit/agent/cells_test
t_unit_agent_cells_test_SOURCES = t/unit/agent/cells_test.c
t_unit_agent_cells_test_LDADD = $(AGENT_UNIT_LIBS)

UNIT += t/unit/agent/changes_test
t_unit_agent_changes_test_SOURCES = t/unit/agent/changes_test.c
t_unit_agent_changes_test_LDADD = $(AGENT_UNIT_LIBS)

UNIT += t/unit/agent/entity_test
t_unit_agent_entity_test_SOURCES = t/unit/agent/entity_test.c
t_unit_agent_entity_test_LDADD = $(AGENT_UNIT_LIBS)

UNIT += t/unit/agent/envset_test
t_unit_agent_envset_test_SOURCES = t/unit/agent/envset_test.c
t_unit_agent_envset_test_LDADD = $(AGENT_UNIT_LIBS)

UNIT += t/unit/agent/files_test
t_unit_agent_files_test_SOURCES = t/unit/agent/files_test.c
t_unit_agent_files_test_LDADD = $(AGENT_UNIT_LIBS)

UNIT += t/unit/agent/git_error_test
t_unit_agent_git_error_test_SOURCES = t/unit/agent/git_error_test.c
t_unit_agent_git_error_test_LDADD = $(AGENT_UNIT_LIBS)

UNIT += t/unit/agent/git_url_test
t_unit_agent_git_url_test_SOURCES = t/unit/agent/git_url_test.c
t_unit_agent_git_url_test_LDADD = $(AGENT_UNIT_LIBS)

UNIT += t/unit/agent/gitconfig_test
t_unit_agent_gitconfig_test_SOURCES = t/unit/agent/gitconfig_test.c
t_unit_agent_gitconfig_test_LDADD = $(AGENT_UNIT_LIBS)

UNIT += t/unit/agent/glob_test
t_unit_agent_glob_test_SOURCES = t/unit/agent/glob_test.c
t_unit_agent_glob_test_LDADD = $(AGENT_UNIT_LIBS)

UNIT += t/unit/agent/launch_test
t_unit_agent_launch_test_SOURCES = t/unit/agent/launch_test.c
t_unit_agent_launch_test_LDADD = $(AGENT_UNIT_LIBS)

UNIT += t/unit/agent/kernel_talk_test
t_unit_agent_kernel_talk_test_SOURCES = t/unit/agent/kernel_talk_test.c
t_unit_agent_kernel_talk_test_LDADD = $(AGENT_UNIT_LIBS)

UNIT += t/unit/agent/lines_test
t_unit_agent_lines_test_SOURCES = t/unit/agent/lines_test.c
t_unit_agent_lines_test_LDADD = $(AGENT_UNIT_LIBS)

UNIT += t/unit/agent/listing_test
t_unit_agent_listing_test_SOURCES = t/unit/agent/listing_test.c
t_unit_agent_listing_test_LDADD = $(AGENT_UNIT_LIBS)

UNIT += t/unit/agent/markers_test
t_unit_agent_markers_test_SOURCES = t/unit/agent/markers_test.c
t_unit_agent_markers_test_LDADD = $(AGENT_UNIT_LIBS)

UNIT += t/unit/agent/mime_test
t_unit_agent_mime_test_SOURCES = t/unit/agent/mime_test.c
t_unit_agent_mime_test_LDADD = $(AGENT_UNIT_LIBS)

UNIT += t/unit/agent/move_test
t_unit_agent_move_test_SOURCES = t/unit/agent/move_test.c
t_unit_agent_move_test_LDADD = $(AGENT_UNIT_LIBS)

UNIT += t/unit/agent/omit_test
t_unit_agent_omit_test_SOURCES = t/unit/agent/omit_test.c
t_unit_agent_omit_test_LDADD = $(AGENT_UNIT_LIBS)

UNIT += t/unit/agent/pack_test
t_unit_agent_pack_test_SOURCES = t/unit/agent/pack_test.c
t_unit_agent_pack_test_LDADD = $(AGENT_UNIT_LIBS) $(ARCHIVE_LIBS)

UNIT += t/unit/agent/port_probe_test
t_unit_agent_port_probe_test_SOURCES = t/unit/agent/port_probe_test.c
t_unit_agent_port_probe_test_LDADD = $(AGENT_UNIT_LIBS)

UNIT += t/unit/agent/process_store_test
t_unit_agent_process_store_test_SOURCES = t/unit/agent/process_store_test.c
t_unit_agent_process_store_test_LDADD = $(AGENT_UNIT_LIBS)

UNIT += t/unit/agent/proctree_test
t_unit_agent_proctree_test_SOURCES = t/unit/agent/proctree_test.c
t_unit_agent_proctree_test_LDADD = $(AGENT_UNIT_LIBS)

UNIT += t/unit/agent/pty_test
t_unit_agent_pty_test_SOURCES = t/unit/agent/pty_test.c
t_unit_agent_pty_test_LDADD = $(AGENT_UNIT_LIBS)

UNIT += t/unit/agent/pump_test
t_unit_agent_pump_test_SOURCES = t/unit/agent/pump_test.c
t_unit_agent_pump_test_LDADD = $(AGENT_UNIT_LIBS)

UNIT += t/unit/agent/relay_page_test
t_unit_agent_relay_page_test_SOURCES = t/unit/agent/relay_page_test.c
t_unit_agent_relay_page_test_LDADD = $(AGENT_UNIT_LIBS)

UNIT += t/unit/agent/ring_test
t_unit_agent_ring_test_SOURCES = t/unit/agent/ring_test.c
t_unit_agent_ring_test_LDADD = $(AGENT_UNIT_LIBS)

UNIT += t/unit/agent/scene_test
t_unit_agent_scene_test_SOURCES = t/unit/agent/scene_test.c
t_unit_agent_scene_test_LDADD = $(AGENT_UNIT_LIBS)

UNIT += t/unit/agent/script_test
t_unit_agent_script_test_SOURCES = t/unit/agent/script_test.c
t_unit_agent_script_test_LDADD = $(AGENT_UNIT_LIBS)

UNIT += t/unit/agent/swap_test
t_unit_agent_swap_test_SOURCES = t/unit/agent/swap_test.c
t_unit_agent_swap_test_LDADD = $(AGENT_UNIT_LIBS)

UNIT += t/unit/agent/tree_test
t_unit_agent_tree_test_SOURCES = t/unit/agent/tree_test.c
t_unit_agent_tree_test_LDADD = $(AGENT_UNIT_LIBS)

UNIT += t/unit/agent/treeend_test
UNIT_PIDFD += t/unit/agent/treeend_test
t_unit_agent_treeend_test_SOURCES = t/unit/agent/treeend_test.c
t_unit_agent_treeend_test_LDADD = $(AGENT_UNIT_LIBS)
t_unit_agent_treeend_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=clock_left_ms

UNIT += t/unit/agent/setup_test
UNIT_PIDFD += t/unit/agent/setup_test
t_unit_agent_setup_test_SOURCES = t/unit/agent/setup_test.c
t_unit_agent_setup_test_LDADD = $(AGENT_UNIT_LIBS)

UNIT += t/unit/agent/usage_test
t_unit_agent_usage_test_SOURCES = t/unit/agent/usage_test.c
t_unit_agent_usage_test_LDADD = $(AGENT_UNIT_LIBS)

UNIT += t/unit/agent/view_test
t_unit_agent_view_test_SOURCES = t/unit/agent/view_test.c
t_unit_agent_view_test_LDADD = $(AGENT_UNIT_LIBS)

UNIT += t/unit/agent/walk_test
t_unit_agent_walk_test_SOURCES = t/unit/agent/walk_test.c
t_unit_agent_walk_test_LDADD = $(AGENT_UNIT_LIBS)

UNIT += t/unit/agent/ws_answer_test
t_unit_agent_ws_answer_test_SOURCES = t/unit/agent/ws_answer_test.c
t_unit_agent_ws_answer_test_LDADD = $(AGENT_UNIT_LIBS)

UNIT += t/unit/agent/ws_request_test
t_unit_agent_ws_request_test_SOURCES = t/unit/agent/ws_request_test.c
t_unit_agent_ws_request_test_LDADD = $(AGENT_UNIT_LIBS)


UNIT += t/unit/agent/watch_test
t_unit_agent_watch_test_SOURCES = t/unit/agent/watch_test.c
t_unit_agent_watch_test_LDADD = $(AGENT_UNIT_LIBS)
endif
