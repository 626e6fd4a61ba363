## t/egress: networks of sandboxes, with servers that stand in for the Internet

EXTRA_DIST += \
	%D%/again.t \
	%D%/executions.t \
	%D%/failures.t \
	%D%/floods.t \
	%D%/hosts.t \
	%D%/limits.t \
	%D%/own.t \
	%D%/policy.t \
	%D%/ports.t \
	%D%/protocols.t \
	%D%/refused.t \
	%D%/secrets.t \
	%D%/via.t \
	%D%/works.t
