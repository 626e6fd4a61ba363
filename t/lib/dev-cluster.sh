# shellcheck shell=bash
# shellcheck disable=SC2015,SC2030,SC2031,SC2034 # `a && b || die` means both or die; variables are shared by the files of t/lib
# dev-cluster.sh: a migrated PostgreSQL cluster, made once and copied for each
# test.
#
# initdb and the migrations take seconds, a copy takes a tenth of one.  A
# prepared cluster lies in var/cluster/KEY; KEY is a hash of everything that
# decides its content, so a changed schema gets a new cluster and the old ones
# are removed.  Tests that run side by side wait for the test that makes it.
#
# All copies have the same passwords and are thrown away.  Each copy gets an
# installation id of its own: two services of one id would take each other's
# sandboxes for their own.

readonly CLUSTER_DIR=$TOP/var/cluster

cluster_key() {
	{
		"$PG_BIN/postgres" --version
		echo "$PG_USER $SVC_USER"
		cd "$TOP" && sha256sum sql/migrations/* sql/functions/* src/store/migrate.c \
			src/admin/cmd_schema.c t/lib/dev-postgres.sh t/lib/dev-cluster.sh
	} | sha256sum | cut -c1-16
}

# cluster_make KEY: makes it in a place of its own, with the functions that make
# every cluster.  The cluster appears in var/cluster only when it is whole and
# shut down.
cluster_make() {
	local to=$CLUSTER_DIR/$1
	(
		STACK_DIR=$(mktemp -d /tmp/slc-XXXXXX) || exit 1
		trap '[ ! -e "$STACK_STATE/pid/postgres" ] || pg_stop; rm -rf -- "$STACK_DIR"' EXIT
		chmod 711 "$STACK_DIR"
		STACK_STATE=$STACK_DIR/state STACK_RUN=$STACK_DIR/run LOGS=$STACK_DIR/log
		STACK_PORT=1 STACK_PREVIEW_PORT=1 STACK_FSYNC=off CGROUP=none STACK_CONF=
		mkdir "$LOGS" && place_make &&
			install -m 755 "$STACK_BUILD/sandlease-admin" "$STACK_STATE/bin/" &&
			stack_copy sql || exit 1
		pg_start
		pg_database && stack_configure && quiet migrate stack_migrate || exit 1
		pg_stop
		rm -rf -- "${CLUSTER_DIR:?}"/* && mkdir "$to.new" &&
			cp -a "$STACK_STATE/etc/pgpass" "$to.new/service-pgpass" &&
			cp -a "$STACK_STATE/pg" "$to.new/pg" && mv "$to.new" "$to"
	)
}

# cluster_copy KEY: copies it into the place of this test.  Its 1400 files go into
# memory if possible (ext4 takes ten times as long), unless the test is about the
# disk or wants fsync.
cluster_copy() {
	local from=$CLUSTER_DIR/$1 memory=/dev/shm/${STACK_DIR##*/} data=$STACK_STATE/pg/data
	[ -d "$from" ] || return 1
	if [ -z "${STACK_DISK_MB:-}" ] && [ "$STACK_FSYNC" = off ] && cluster_has_memory &&
		mkdir -m 711 "$memory" 2>/dev/null; then
		ln -s "$memory/data" "$data" && data=$memory/data
	fi
	cp -a --reflink=auto "$from/pg/data" "$data" &&
		cp -a "$from/pg/pgpass" "$STACK_STATE/pg/pgpass" &&
		cp -a "$from/service-pgpass" "$STACK_STATE/etc/pgpass" || {
		rm -rf -- "$memory" "$STACK_STATE/pg/data"
		return 1
	}
}

# A gigabyte: several tests run at once, each with 50 MB and the data it writes.
cluster_has_memory() {
	[ "$(df --output=avail -k /dev/shm 2>/dev/null | tail -n 1)" -gt 1048576 ] 2>/dev/null
}

# cluster_remove: removes the files that are not below $STACK_DIR.
cluster_remove() {
	local name=${STACK_DIR##*/}
	[ -z "$name" ] || rm -rf -- "/dev/shm/$name"
}

# cluster_fetch: puts a copy into $STACK_STATE, and makes the prepared cluster
# first if there is none.  Fails if var/ cannot be written; then the test makes a
# cluster of its own.
cluster_fetch() {
	local key status
	mkdir -p "$CLUSTER_DIR" 2>/dev/null && [ -w "$CLUSTER_DIR" ] || return 1
	key=$(cluster_key) || return 1
	# daemons do not inherit descriptor 8: the lock ends with this process
	exec 8<"$CLUSTER_DIR"
	cluster_copy_or_make "$key"
	status=$?
	exec 8<&-
	return "$status"
}

cluster_copy_or_make() { # KEY
	local patience=300 # wait: against hanging; it takes seconds to make one
	flock -s -w "$patience" 8 || return 1
	cluster_copy "$1" && return 0
	flock -w "$patience" 8 || return 1
	[ -d "$CLUSTER_DIR/$1" ] || cluster_make "$1" || return 1
	cluster_copy "$1"
}

# After the start: the copy gets an installation id of its own.
cluster_rename() {
	pg_super -d sandlease <<<"UPDATE installation SET id = gen_random_uuid()"
}
