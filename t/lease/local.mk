## t/lease: what becomes of a session when things go wrong

EXTRA_DIST += \
	t/lease/cases.t \
	t/lease/deletion.t \
	t/lease/patience.t \
	t/lease/shared.t
