EXTRA_DIST += \
	t/lib/api.py \
	t/lib/rootfs.py \
	t/previews/app_checks.py \
	t/previews/apps.t \
	t/previews/package-lock.json \
	t/previews/package.json \
	t/previews/preview_checks.py \
	t/previews/previews.t \
	t/sandbox/escape-bwrap.t \
	t/sandbox/escape-cgroup.t \
	t/sandbox/escape-none.t \
	t/sandbox/escape-writable.t \
	t/sandbox/escape_checks.py \
	t/sandbox/rootfs.t \
	t/sandbox/two-tenants-cgroup.t \
	t/sandbox/two-tenants-none.t \
	t/sandbox/two_tenants_checks.py \
	t/sandbox/writable.t
