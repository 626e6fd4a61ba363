## t/reaper: its passes over a whole service

EXTRA_DIST += \
	%D%/causes.t \
	%D%/cron.t \
	%D%/dry_run.t \
	%D%/pass.t \
	%D%/ports.t
