## t/unit: a program per source file of src/, and what t/sql and t/control run

## A program t/unit/x/y is made of t/unit/x/y.c alone (automake's default) and of
## what it needs of LDADD (Makefile.am): a new one is a name in a list below.
if HAVE_CMOCKA
UNIT += \
	t/unit/common/address_test t/unit/common/channel_test t/unit/common/clock_test t/unit/common/code_test \
	t/unit/common/command_name_test t/unit/common/base64_test \
	t/unit/common/conf_test t/unit/common/correlation_test \
	t/unit/common/err_test t/unit/common/id_test t/unit/common/json_test \
	t/unit/common/kernel_limits_test \
	t/unit/common/log_test t/unit/common/mem_test t/unit/common/nearest_test \
	t/unit/common/poller_test t/unit/common/str_test t/unit/common/table_test \
	t/unit/common/quote_test t/unit/common/sse_read_test \
	t/unit/common/token_test t/unit/common/utf8_test \
	t/unit/web/call_test t/unit/web/http_reply_test t/unit/web/http_request_test t/unit/web/error_page_test t/unit/web/records_test t/unit/web/reply_test \
	t/unit/web/router_test t/unit/web/server_test t/unit/web/sse_test \
	t/unit/domain/disk_test t/unit/domain/identity_test t/unit/domain/limits_test t/unit/domain/network_test t/unit/domain/output_test \
	t/unit/domain/sandbox_id_test t/unit/domain/schedule_test t/unit/domain/secrets_test t/unit/domain/state_test t/unit/domain/webhook_test \
	t/unit/egress/dns_test t/unit/egress/line_test \
	t/unit/egress/loop_test t/unit/egress/resolver_test t/unit/egress/sni_test \
	t/unit/egress/standin_test \
	t/unit/store/store_test \
	t/unit/provider/agent_link_test t/unit/provider/artifact_test t/unit/provider/agent_socket_test \
	t/unit/provider/box_test t/unit/provider/gone_test \
	t/unit/provider/cgroup_test t/unit/provider/cgroup_usage_test t/unit/provider/choose_test t/unit/provider/file_test \
	t/unit/provider/local_bwrap_test \
	t/unit/provider/proc_test t/unit/provider/record_test \
	t/unit/provider/storage_test t/unit/provider/trash_test \
	t/unit/control/steps_test \
	t/unit/api/access_test t/unit/api/answer_test t/unit/api/auth_cache_test t/unit/api/keys_body_test \
	t/unit/api/openapi_test t/unit/api/session_body_test t/unit/api/org_share_test t/unit/api/site_test \
	t/unit/api/stream_link_test t/unit/api/ticket_test t/unit/api/ws_frames_test t/unit/api/ws_gate_test \
	t/unit/reaper/plan_test \
	t/unit/webhook/posts_test t/unit/webhook/signature_test \
	t/unit/agent/answers_test t/unit/agent/backup_path_test \
	t/unit/agent/bigjson_test t/unit/agent/blocks_test t/unit/agent/cells_test \
	t/unit/agent/changes_test t/unit/agent/child_test t/unit/agent/entity_test \
	t/unit/agent/envset_test \
	t/unit/agent/files_test t/unit/agent/git_error_test t/unit/agent/git_url_test \
	t/unit/agent/gitconfig_test t/unit/common/glob_test \
	t/unit/agent/journal_test t/unit/agent/kernel_talk_test t/unit/agent/launch_test \
	t/unit/agent/limits_view_test t/unit/agent/lines_test \
	t/unit/agent/listing_test t/unit/agent/lock_test t/unit/agent/markers_test t/unit/agent/meter_test t/unit/agent/mime_test \
	t/unit/agent/move_test t/unit/agent/bash_notice_test t/unit/agent/omit_test t/unit/agent/pack_test \
	t/unit/agent/port_probe_test t/unit/agent/process_store_test \
	t/unit/agent/proctree_test t/unit/agent/pty_test t/unit/agent/pump_test \
	t/unit/agent/relay_page_test t/unit/agent/relay_request_test \
	t/unit/agent/ring_test t/unit/agent/api_request_test \
	t/unit/agent/script_test t/unit/agent/seals_test t/unit/agent/setup_test \
	t/unit/agent/swap_test t/unit/agent/sysfilter_test \
	t/unit/agent/tree_test t/unit/agent/tree_end_test t/unit/agent/disk_usage_test \
	t/unit/agent/view_test t/unit/agent/walk_test t/unit/agent/watch_test \
	t/unit/agent/ws_answer_test t/unit/agent/ws_request_test \
	t/unit/cli/args_test t/unit/cli/config_test t/unit/cli/duration_test \
	t/unit/cli/escape_test t/unit/cli/network_test t/unit/cli/outcome_test t/unit/cli/replay_test \
	t/unit/cli/show_test t/unit/cli/story_test t/unit/cli/stream_test

## without libagent.a, whose loop has functions of the same names
EGRESS_LDADD = libegress.a libdomain.a $(LIBCOMMON) $(CARES_LIBS) $(CMOCKA_LIBS) -lresolv -lpthread
t_unit_egress_loop_test_LDADD = $(EGRESS_LDADD)
t_unit_egress_resolver_test_LDADD = $(EGRESS_LDADD)

## when its name servers are asked again is the test's own
t_unit_egress_resolver_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=ares_init_options

## their clock is the test's own
t_unit_agent_tree_end_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=clock_left_ms
t_unit_api_auth_cache_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=clock_us
t_unit_api_org_share_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=clock_ms
t_unit_provider_trash_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=clock_left_ms
t_unit_control_steps_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=clock_us

## what another process does in between, what is removed first, a disk that fails
t_unit_provider_box_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=flock,--wrap=unlinkat
t_unit_provider_file_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=readdir

## it takes in what is made while we are built
t/unit/agent/sysfilter_test.$(OBJEXT): $(SYSFILTER_TABLES)

## not under valgrind: Debian 12's does not know pidfd_open()
UNIT_PIDFD += t/unit/provider/proc_test t/unit/agent/child_test t/unit/agent/setup_test t/unit/agent/tree_end_test

## need a server: t/sql/store.t and t/control/*.t run them
check_PROGRAMS += t/unit/store/store_world \
	t/unit/control/admit_world t/unit/control/cases_world \
	t/unit/control/clean_world t/unit/control/disk_world \
	t/unit/control/evidence_world t/unit/control/look_world \
	t/unit/control/meanwhile_world t/unit/control/port_world \
	t/unit/control/reap_world t/unit/control/snapshot_world \
	t/unit/control/start_world t/unit/control/statistics_world t/unit/control/stop_world \
	t/unit/control/suspend_world
check_LIBRARIES += libworld.a
WORLD = libworld.a
libworld_a_SOURCES = t/unit/control/world.c t/unit/control/world.h
endif

## prints the tables that C and the database share, for t/sql
check_PROGRAMS += t/unit/store/print_tables

EXTRA_DIST += t/unit/tree.h t/unit/unit.h t/unit/web/fake_io.h t/unit/web/http_request_samples.h t/unit/provider/agent_box.h t/unit/egress/name_server.h \
	t/control/admit.t t/control/cases.t t/control/clean.t t/control/disk.t \
	t/control/evidence.t t/control/look.t t/control/meanwhile.t t/control/port.t t/control/reap.t t/control/snapshot.t \
	t/control/start.t t/control/statistics.t t/control/stop.t t/control/suspend.t
