## t/disk: a service on a small file system that is filled

EXTRA_DIST += \
	%D%/disk_checks.py \
	%D%/disk_world.py \
	%D%/full-none.t \
	%D%/full.t
