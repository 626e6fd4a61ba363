sbin_PROGRAMS += sandlease-api

EXTRA_DIST += src/api/README.md src/api/gate/README.md src/api/route/README.md \
	src/api/serve/README.md src/api/stream/README.md src/api/v1/README.md

noinst_LIBRARIES += libapi.a
libapi_a_SOURCES = \
	src/api/app.c src/api/app.h \
	src/api/child.c src/api/child.h \
	src/api/error.c src/api/error.h \
	src/api/preview_page.c src/api/preview_page.h \
	src/api/org_share.c src/api/org_share.h \
	src/api/gate/access.c src/api/gate/access.h \
	src/api/gate/audit.c src/api/gate/audit.h \
	src/api/gate/auth.c src/api/gate/auth.h \
	src/api/gate/auth_cache.c src/api/gate/auth_cache.h \
	src/api/gate/first_work.c src/api/gate/first_work.h \
	src/api/gate/gate.c src/api/gate/gate.h \
	src/api/gate/refusals.c src/api/gate/refusals.h \
	src/api/gate/revocations.c src/api/gate/revocations.h \
	src/api/gate/request.c src/api/gate/request.h \
	src/api/gate/sandbox_name.c src/api/gate/sandbox_name.h \
	src/api/gate/ticket.c src/api/gate/ticket.h \
	src/api/gate/wake.c src/api/gate/wake.h \
	src/api/route/dispatch.c src/api/route/dispatch.h \
	src/api/route/openapi.c src/api/route/openapi.h \
	src/api/route/routes.c src/api/route/routes.h \
	src/api/serve/follow.c src/api/serve/follow.h \
	src/api/serve/listener.c src/api/serve/listener.h \
	src/api/serve/master.c src/api/serve/master.h \
	src/api/serve/rehearse.c src/api/serve/rehearse.h \
	src/api/serve/site.c src/api/serve/site.h \
	src/api/serve/starts.c src/api/serve/starts.h \
	src/api/serve/disk_watch.c src/api/serve/disk_watch.h \
	src/api/serve/warm.c src/api/serve/warm.h \
	src/api/serve/webhooks.c src/api/serve/webhooks.h \
	src/api/serve/worker.c src/api/serve/worker.h \
	src/api/stream/answer.c src/api/stream/answer.h \
	src/api/stream/events.c src/api/stream/events.h \
	src/api/stream/keys.c src/api/stream/keys.h \
	src/api/stream/link.c src/api/stream/link.h \
	src/api/stream/sides.c src/api/stream/sides.h \
	src/api/stream/stream.c src/api/stream/stream.h \
	src/api/stream/ws.c src/api/stream/ws.h \
	src/api/stream/ws_frames.c src/api/stream/ws_frames.h \
	src/api/stream/ws_gate.c src/api/stream/ws_gate.h \
	src/api/v1/aliases.c \
	src/api/v1/classes.c \
	src/api/v1/profiles.c \
	src/api/v1/container_ports.c \
	src/api/v1/date.c src/api/v1/date.h \
	src/api/v1/execution_body.c src/api/v1/execution_body.h src/api/v1/execution_call.h \
	src/api/v1/execution_output.c src/api/v1/execution_stream.c src/api/v1/execution_sums.c \
	src/api/v1/executions.c \
	src/api/v1/files_body.c src/api/v1/files_body.h \
	src/api/v1/handlers.h \
	src/api/v1/history.c \
	src/api/v1/interrupt.c \
	src/api/v1/keys_body.c src/api/v1/keys_body.h \
	src/api/v1/login.c \
	src/api/v1/page.c src/api/v1/page.h \
	src/api/v1/port_body.c src/api/v1/port_body.h \
	src/api/v1/ports.c \
	src/api/v1/reply_rows.c src/api/v1/reply_rows.h \
	src/api/v1/service.c \
	src/api/v1/session_body.c src/api/v1/session_body.h \
	src/api/v1/session_json.c src/api/v1/session_json.h \
	src/api/v1/session_list.c \
	src/api/v1/session_now.c src/api/v1/session_now.h \
	src/api/v1/session_problem.c src/api/v1/session_problem.h \
	src/api/v1/sessions.c \
	src/api/v1/snapshot_body.h \
	src/api/v1/snapshots.c \
	src/api/v1/statistics.c \
	src/api/v1/tickets.c \
	src/api/v1/triggers.c \
	src/api/v1/usage.c \
	src/api/v1/webhooks.c

sandlease_api_SOURCES = src/api/serve/main.c
sandlease_api_LDADD = libapi.a libwebhook.a libcontrol.a libprovider.a libstore.a libdomain.a libweb.a $(LIBCOMMON) \
	$(FCGI_LIBS) $(PQ_LIBS) $(PSL_LIBS) $(CURL_LIBS)
sandlease_api_LDFLAGS = $(AM_LDFLAGS) $(PIE_LDFLAGS)

dist_man_MANS += src/api/sandlease-api.8
