## t/mutation: faults put into the code, each of which a test must notice

EXTRA_DIST += \
	t/mutation/code.t \
	t/mutation/faults.sh \
	t/mutation/faults_service.sh \
	t/mutation/faults_host.sh \
	t/mutation/faults_network.sh
