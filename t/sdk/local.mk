## t/sdk: the published SDK as a judge from outside

EXTRA_DIST += \
	t/sdk/backup.mjs \
	t/sdk/commands.mjs \
	t/sdk/files.mjs \
	t/sdk/git.mjs \
	t/sdk/hooks.mjs \
	t/sdk/interpreter.mjs \
	t/sdk/judge.mjs \
	t/sdk/lifecycle.mjs \
	t/sdk/package-lock.json \
	t/sdk/package.json \
	t/sdk/platform.mjs \
	t/sdk/ports.mjs \
	t/sdk/processes.mjs \
	t/sdk/sandbox.mjs \
	t/sdk/sdk.t \
	t/sdk/service.mjs \
	t/sdk/trial.mjs \
	t/sdk/utils.mjs \
	t/sdk/versions.mjs \
	t/sdk/watch.mjs \
	t/sdk/websocket.mjs
