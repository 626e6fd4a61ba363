sbin_PROGRAMS += sandlease-api

noinst_LIBRARIES += libapi.a
libapi_a_SOURCES = \
	src/api/access.c src/api/access.h \
	src/api/answer.c src/api/answer.h \
	src/api/app.h \
	src/api/audit.c src/api/audit.h \
	src/api/container_ports.c \
	src/api/dispatch.c src/api/dispatch.h \
	src/api/dress.c src/api/dress.h \
	src/api/first_work.c src/api/first_work.h \
	src/api/gate.c src/api/gate.h \
	src/api/handlers.h \
	src/api/keys_body.c src/api/keys_body.h \
	src/api/master.c src/api/master.h \
	src/api/openapi.c src/api/openapi.h \
	src/api/page.c src/api/page.h \
	src/api/port_body.c src/api/port_body.h \
	src/api/preview_page.c src/api/preview_page.h \
	src/api/routes.c src/api/routes.h \
	src/api/child.c src/api/child.h \
	src/api/files_body.c src/api/files_body.h \
	src/api/refusals.c src/api/refusals.h \
	src/api/sandbox_name.c src/api/sandbox_name.h \
	src/api/session_problem.c src/api/session_problem.h \
	src/api/session_body.c src/api/session_body.h \
	src/api/session_json.c src/api/session_json.h \
	src/api/session_now.c src/api/session_now.h \
	src/api/share.c src/api/share.h \
	src/api/snapshot_body.h \
	src/api/site.c src/api/site.h \
	src/api/starts.c src/api/starts.h \
	src/api/stream.c src/api/stream.h \
	src/api/stream_keys.c src/api/stream_keys.h \
	src/api/stream_internal.h \
	src/api/stream_link.c src/api/stream_link.h \
	src/api/stream_ws.c \
	src/api/ticket.c src/api/ticket.h \
	src/api/v1_aliases.c src/api/v1_classes.c src/api/v1_history.c src/api/v1_interrupt.c \
	src/api/v1_login.c src/api/v1_ports.c src/api/v1_service.c \
	src/api/v1_session_list.c src/api/v1_sessions.c src/api/v1_tickets.c \
	src/api/v1_snapshots.c src/api/v1_usage.c \
	src/api/watch.c src/api/watch.h \
	src/api/worker.c src/api/worker.h \
	src/api/ws_frames.c src/api/ws_frames.h \
	src/api/ws_gate.c src/api/ws_gate.h

sandlease_api_SOURCES = src/api/main.c
sandlease_api_LDADD = libapi.a libcontrol.a libprovider.a libstore.a libdomain.a libweb.a $(LIBCOMMON) \
	$(FCGI_LIBS) $(PQ_LIBS) $(PSL_LIBS)
sandlease_api_LDFLAGS = $(AM_LDFLAGS) $(PIE_LDFLAGS)

dist_man_MANS += src/api/sandlease-api.8
