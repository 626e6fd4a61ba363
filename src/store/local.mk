noinst_LIBRARIES += libstore.a

EXTRA_DIST += src/store/README.md

SQL_STATEMENTS = \
	sql/statements/admin.sql sql/statements/artifact.sql \
	sql/statements/auth.sql sql/statements/awake.sql sql/statements/disk.sql sql/statements/egress.sql \
	sql/statements/execution.sql \
	sql/statements/history.sql sql/statements/host.sql sql/statements/lease.sql \
	sql/statements/port.sql sql/statements/quota.sql \
	sql/statements/reaper.sql sql/statements/reconcile.sql sql/statements/sample.sql \
	sql/statements/sandbox.sql sql/statements/service.sql sql/statements/session.sql \
	sql/statements/snapshot.sql sql/statements/ticket.sql sql/statements/trigger.sql \
	sql/statements/warm.sql sql/statements/webhook.sql
SQL_MIGRATIONS = \
	sql/migrations/0001_first.sql \
	sql/migrations/0002_reaper.sql \
	sql/migrations/0003_disk.sql \
	sql/migrations/0004_awake.sql \
	sql/migrations/0005_keys_and_quotas.sql \
	sql/migrations/0006_history.sql \
	sql/migrations/0007_effects.sql \
	sql/migrations/0008_setup.sql \
	sql/migrations/0009_streams.sql \
	sql/migrations/0010_told.sql \
	sql/migrations/0011_tickets.sql \
	sql/migrations/0012_snapshots.sql \
	sql/migrations/0013_ports.sql \
	sql/migrations/0014_bounds.sql \
	sql/migrations/0015_session_states.sql \
	sql/migrations/0016_create.sql \
	sql/migrations/0017_storage_id.sql \
	sql/migrations/0018_previews.sql \
	sql/migrations/0019_writable_root.sql \
	sql/migrations/0020_network.sql \
	sql/migrations/0021_profiles.sql \
	sql/migrations/0022_executions.sql \
	sql/migrations/0023_one_call.sql \
	sql/migrations/0024_artifacts.sql \
	sql/migrations/0025_samples.sql \
	sql/migrations/0026_webhooks.sql \
	sql/migrations/0027_triggers.sql \
	sql/migrations/0028_warm.sql \
	sql/migrations/0029_growth.sql \
	sql/migrations/0030_snapshot_by_host.sql
SQL_FUNCTIONS = \
	sql/functions/admin.sql \
	sql/functions/artifact.sql \
	sql/functions/audit.sql \
	sql/functions/audit_add.sql \
	sql/functions/auth_ended.sql \
	sql/functions/disk.sql \
	sql/functions/egress.sql \
	sql/functions/event.sql \
	sql/functions/execution.sql \
	sql/functions/health.sql \
	sql/functions/host.sql \
	sql/functions/key.sql \
	sql/functions/lease_apply.sql sql/functions/network.sql sql/functions/port.sql sql/functions/profile.sql sql/functions/quota.sql \
	sql/functions/reaper.sql sql/functions/rehearse.sql sql/functions/sample.sql sql/functions/sandbox_lease.sql \
	sql/functions/session_apply.sql sql/functions/session_awake.sql sql/functions/session_json.sql sql/functions/session_keys.sql \
	sql/functions/session_labels.sql sql/functions/session_list.sql sql/functions/session_patch.sql sql/functions/session_setup.sql \
	sql/functions/session_start.sql sql/functions/session_state.sql sql/functions/session_stop.sql \
	sql/functions/session_suspend.sql sql/functions/snapshot.sql \
	sql/functions/ticket.sql sql/functions/trigger.sql \
	sql/functions/warm.sql sql/functions/webhook.sql

migrationsdir = $(pkgdatadir)/sql/migrations
dist_migrations_DATA = $(SQL_MIGRATIONS)
functionsdir = $(pkgdatadir)/sql/functions
dist_functions_DATA = $(SQL_FUNCTIONS)
EXTRA_DIST += $(SQL_STATEMENTS) src/store/stmt_gen.awk

libstore_a_SOURCES = \
	src/store/listen.c src/store/listen.h \
	src/store/migrate.c src/store/migrate.h \
	src/store/pooling.c src/store/pooling.h \
	src/store/store.c src/store/store.h src/store/store_conn.h
nodist_libstore_a_SOURCES = src/store/stmt_table.h

BUILT_SOURCES += src/store/stmt_table.h
CLEANFILES += src/store/stmt_table.h
src/store/stmt_table.h: $(SQL_STATEMENTS) src/store/stmt_gen.awk
	$(AM_V_GEN)$(MKDIR_P) $(@D) && \
	for f in $(SQL_STATEMENTS); do cat $(srcdir)/$$f; done | \
	LC_ALL=C $(AWK) -f $(srcdir)/src/store/stmt_gen.awk > $@-t && mv $@-t $@
