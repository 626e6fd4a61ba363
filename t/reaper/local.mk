## t/reaper: its passes over a whole service

EXTRA_DIST += \
	%D%/cron.t \
	%D%/pass.t
