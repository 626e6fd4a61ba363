## t/agent: a real sandbox, driven over its control channel and FastCGI

EXTRA_DIST += \
	t/agent/attempts.t \
	t/agent/code.t \
	t/agent/control.t \
	t/agent/crowded.t \
	t/agent/descriptors.t \
	t/agent/execute.t \
	t/agent/executions.t \
	t/agent/fields.t \
	t/agent/files.t \
	t/agent/freeze.t \
	t/agent/interrupt.t \
	t/agent/alone.t \
	t/agent/isolation.t \
	t/agent/many.t \
	t/agent/markers.t \
	t/agent/network.t \
	t/agent/process.t \
	t/agent/relay.t \
	t/agent/terminal.t \
	t/agent/usage.t \
	t/agent/websocket.t \
	t/agent/websocket_idle.t \
	t/agent/websocket_life.t \
	t/agent/watch.t \
	t/agent/watch_bounds.t \
	t/lib/box.py \
	t/lib/fcgi_client.py \
	t/lib/tap.py \
	t/lib/mux.py \
	t/lib/watching.py \
	t/lib/websocket.py
