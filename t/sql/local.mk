## t/sql: the schema, its functions and their races, in a real PostgreSQL

EXTRA_DIST += \
	sql/README.md \
	t/lib/many-rows.sql \
	t/lib/pg.sh \
	t/sql/artifact.t \
	t/sql/auth.t \
	t/sql/auth_ended.t \
	t/sql/disk.t \
	t/sql/execution.t \
	t/sql/history.t \
	t/sql/hosts.t \
	t/sql/keys.t \
	t/sql/lease.t \
	t/sql/list.t \
	t/sql/mutation.t \
	t/sql/network.t \
	t/sql/plans.t \
	t/sql/port.t \
	t/sql/prepare.t \
	t/sql/quota.t \
	t/sql/race.t \
	t/sql/reaper.t \
	t/sql/rows.sh \
	t/sql/sample.t \
	t/sql/warm.t \
	t/sql/schedule.t \
	t/sql/session.t \
	t/sql/setup.t \
	t/sql/snapshot.t \
	t/sql/states.t \
	t/sql/store.t \
	t/sql/suspend.t \
	t/sql/ticket.t \
	t/sql/transitions.t \
	t/sql/webhook.t
