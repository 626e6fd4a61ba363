## t/model: the lease as a model that is checked

EXTRA_DIST += \
	t/model/lease.pml t/model/warm.pml \
	t/model/model.t
