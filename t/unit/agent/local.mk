## unit tests of src/agent

if HAVE_CMOCKA
AGENT_UNIT_LIBS = libagent.a libweb.a libcommon.a \
	$(FCGI_LIBS) $(JANSSON_LIBS) $(SODIUM_LIBS) $(check_LIBS) -lpthread

UNIT += t/unit/agent/base64_test
t_unit_agent_base64_test_SOURCES = t/unit/agent/base64_test.c
t_unit_agent_base64_test_LDADD = $(AGENT_UNIT_LIBS)

UNIT += t/unit/agent/cells_test
t_unit_agent_cells_test_SOURCES = t/unit/agent/cells_test.c
t_unit_agent_cells_test_LDADD = $(AGENT_UNIT_LIBS)

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

UNIT += t/unit/agent/launch_test
t_unit_agent_launch_test_SOURCES = t/unit/agent/launch_test.c
t_unit_agent_launch_test_LDADD = $(AGENT_UNIT_LIBS)

UNIT += t/unit/agent/lines_test
t_unit_agent_lines_test_SOURCES = t/unit/agent/lines_test.c
t_unit_agent_lines_test_LDADD = $(AGENT_UNIT_LIBS)

UNIT += t/unit/agent/markers_test
t_unit_agent_markers_test_SOURCES = t/unit/agent/markers_test.c
t_unit_agent_markers_test_LDADD = $(AGENT_UNIT_LIBS)

UNIT += t/unit/agent/mime_test
t_unit_agent_mime_test_SOURCES = t/unit/agent/mime_test.c
t_unit_agent_mime_test_LDADD = $(AGENT_UNIT_LIBS)

UNIT += t/unit/agent/proctree_test
t_unit_agent_proctree_test_SOURCES = t/unit/agent/proctree_test.c
t_unit_agent_proctree_test_LDADD = $(AGENT_UNIT_LIBS)

UNIT += t/unit/agent/relay_page_test
t_unit_agent_relay_page_test_SOURCES = t/unit/agent/relay_page_test.c
t_unit_agent_relay_page_test_LDADD = $(AGENT_UNIT_LIBS)

UNIT += t/unit/agent/scene_test
t_unit_agent_scene_test_SOURCES = t/unit/agent/scene_test.c
t_unit_agent_scene_test_LDADD = $(AGENT_UNIT_LIBS)

UNIT += t/unit/agent/script_test
t_unit_agent_script_test_SOURCES = t/unit/agent/script_test.c
t_unit_agent_script_test_LDADD = $(AGENT_UNIT_LIBS)

UNIT += t/unit/agent/setup_test
t_unit_agent_setup_test_SOURCES = t/unit/agent/setup_test.c
t_unit_agent_setup_test_LDADD = $(AGENT_UNIT_LIBS)

UNIT += t/unit/agent/usage_test
t_unit_agent_usage_test_SOURCES = t/unit/agent/usage_test.c
t_unit_agent_usage_test_LDADD = $(AGENT_UNIT_LIBS)
endif
