## t/lint: what can be known of the sources and the built files alone

LINT += \
	t/lint/cases.t \
	t/lint/codes.t \
	t/lint/config.t \
	t/lint/cppcheck.t \
	t/lint/data_plane.t \
	t/lint/denials.t \
	t/lint/faults.t \
	t/lint/format.t \
	t/lint/hardening.t \
	t/lint/layers.t \
	t/lint/links.t \
	t/lint/man.t \
	t/lint/promises.t \
	t/lint/routes.t \
	t/lint/shell.t \
	t/lint/size.t \
	t/lint/symbols.t \
	t/lint/tap.t \
	t/lint/tarball.t \
	t/lint/tour.t \
	t/lint/units.t \
	t/lint/version.t \
	t/lint/waits.t \
	t/lint/words.t

EXTRA_DIST += \
	.ci/run \
	t/dev/front-door.t \
	t/dev/stack.t \
	t/lib/cli.sh \
	t/lib/dev-build.sh \
	t/lib/dev-check.sh \
	t/lib/dev-cluster.sh \
	t/lib/dev-daemon.sh \
	t/lib/dev-kernel.sh \
	t/lib/dev-packages.sh \
	t/lib/dev-place.sh \
	t/lib/dev-postgres.sh \
	t/lib/dev-reaper-loop \
	t/lib/dev-say.sh \
	t/lib/dev-stack.sh \
	t/lib/docs.sh \
	t/lib/last-release \
	t/lib/node.sh \
	t/lib/run-tap \
	t/lib/stack.sh \
	t/lib/tap.sh \
	t/lib/valgrind.supp
