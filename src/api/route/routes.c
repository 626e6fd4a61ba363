/* routes.c: lists all routes of the HTTP API. */
#include "api/route/routes.h"

#include "api/gate/access.h"
#include "api/org_share.h"
#include "api/route/openapi.h"
#include "api/v1/execution_body.h"
#include "api/v1/handlers.h"
#include "api/v1/session_body.h"
#include "api/v1/snapshot_body.h"
#include "common/mem.h"

/* clang-format off */
const struct route ROUTES[] = {
	{ "GET",    "/v1/live",                             ACCESS_NONE,   v1_live,              .help = "204 while a worker serves; no database" },
	{ "GET",    "/v1/health",                           ACCESS_NONE,   v1_health,            .help = "status and version; details with a key" },
	{ "GET",    "/v1/openapi.json",                     ACCESS_NONE,   v1_openapi,           .help = "this table as an OpenAPI document" },
	{ "POST",   "/v1/login",                            ACCESS_NONE,   v1_login,             .body = LOGIN_FIELDS, .body_count = &LOGIN_FIELD_COUNT, .help = "exchange a key for the dashboard's cookie" },
	{ "DELETE", "/v1/login",                            ACCESS_NONE,   v1_logout,            .help = "end the dashboard's cookie" },
	{ "GET",    "/v1/me",                               ACCESS_READ,   v1_me,                .help = "whose key this is" },
	{ "GET",    "/v1/usage",                            ACCESS_READ,   v1_usage,             .help = "quotas of the org, what is used of them, and its sessions by state" },
	{ "GET",    "/v1/usage/days",                       ACCESS_READ,   v1_execution_days,    .query = "since agentType limit", .help = "executions of each day and agent type, the newest first; `?since=` a day `?agentType=` `?limit=`" },
	{ "GET",    "/v1/classes",                          ACCESS_READ,   v1_classes,           .help = "classes that a session may be created with, and their limits" },
	{ "GET",    "/v1/presets",                          ACCESS_READ,   v1_presets,           .help = "names for lists of hosts, for `network.allow`" },
	{ "GET",    "/v1/profiles",                         ACCESS_READ,   v1_profiles,          .help = "limits and network of each agent type" },
	{ "GET",    "/v1/profiles/:type",                   ACCESS_READ,   v1_profile_get,       .help = "one of them" },
	{ "PUT",    "/v1/profiles/:type",                   ACCESS_ADMIN,  v1_profile_put,       .body = PROFILE_FIELDS, .body_count = &PROFILE_FIELD_COUNT, .help = "the org's own profile of an agent type" },
	{ "DELETE", "/v1/profiles/:type",                   ACCESS_ADMIN,  v1_profile_delete,    .help = "the service's profile again" },
	{ "GET",    "/v1/profiles/:type/suggestion",        ACCESS_READ,   v1_profile_suggestion, .query = "percentile", .help = "limits that the executions of the type would have kept; `?percentile=`, 95 without it" },
	{ "POST",   "/v1/sessions",                         ACCESS_TENANT, v1_session_create,    .body = CREATE_FIELDS, .body_count = &CREATE_FIELD_COUNT, .query = "wait", .help = "create a session, or find it by name or correlation key; `?wait=` seconds" },
	{ "GET",    "/v1/sessions",                         ACCESS_READ,   v1_session_list,      .query = "state label correlationKey limit cursor", .help = "newest first; `?state=` `?label=key:value` `?correlationKey=` `?limit=` `?cursor=`" },
	{ "GET",    "/v1/sessions/:id",                     ACCESS_READ,   v1_session_get,       .help = "state, lease, limits, ports, why it is alive and until when" },
	{ "PATCH",  "/v1/sessions/:id",                     ACCESS_TENANT, v1_session_patch,     .body = PATCH_FIELDS, .body_count = &PATCH_FIELD_COUNT, .help = "change how long it lives, labels, env, network, secrets" },
	{ "DELETE", "/v1/sessions/:id",                     ACCESS_TENANT, v1_session_delete,    .help = "200 `deleted`, or 202 `deleting` until absence is observed" },
	{ "POST",   "/v1/sessions/:id/resume",              ACCESS_TENANT, v1_session_resume,    .query = "wait", .help = "start it again where its files are; `?wait=` seconds" },
	{ "POST",   "/v1/sessions/:id/sleep",               ACCESS_TENANT, v1_session_sleep,     .body = SLEEP_FIELDS, .body_count = &SLEEP_FIELD_COUNT, .help = "stop what runs, or freeze it (`suspend`), keep the files" },
	{ "POST",   "/v1/sessions/:id/extend",              ACCESS_TENANT, v1_session_extend,    .body = EXTEND_FIELDS, .body_count = &EXTEND_FIELD_COUNT, .help = "stay awake at least `seconds` from now, 600 without a body" },
	{ "POST",   "/v1/sessions/:id/interrupt",           ACCESS_TENANT, v1_session_interrupt, .hold = SHARE_MAY_LAST, .body = INTERRUPT_FIELDS, .body_count = &INTERRUPT_FIELD_COUNT, .help = "stop the commands that run; it stays ready" },
	{ "GET",    "/v1/sessions/:id/agent-log",           ACCESS_READ,   v1_session_agent_log, .help = "tail of the sandbox agent's log" },
	{ "GET",    "/v1/sessions/:id/events",              ACCESS_READ,   v1_session_events,    .query = "after wait limit", .help = "what happened to it, in order; `?after=` id `?wait=` at most 30 seconds `?limit=`" },
	{ "PUT",    "/v1/sessions/:id/aliases",             ACCESS_TENANT, v1_aliases_put,       .body = ALIASES_FIELDS, .body_count = &ALIASES_FIELD_COUNT, .help = "set all its correlation keys" },
	{ "DELETE", "/v1/sessions/:id/aliases",             ACCESS_TENANT, v1_aliases_delete,    .query = "key", .help = "free its correlation keys, or the one in `?key=`" },
	{ "POST",   "/v1/sessions/:id/ports",               ACCESS_TENANT, v1_port_expose,       .body = PORT_FIELDS, .body_count = &PORT_FIELD_COUNT, .help = "a preview URL for a port" },
	{ "GET",    "/v1/sessions/:id/ports",               ACCESS_READ,   v1_port_list,         .help = "ports and their URLs" },
	{ "DELETE", "/v1/sessions/:id/ports/:port",         ACCESS_TENANT, v1_port_remove,       .help = "end a preview URL and its open connections: 204, or 202 `closing` until its relay has confirmed" },
	{ "POST",   "/v1/sessions/:id/ports/:port/rotate",  ACCESS_TENANT, v1_port_rotate,       .help = "a new URL for a port; the old one ends" },
	{ "POST",   "/v1/sessions/:id/tickets",             ACCESS_TENANT, v1_ticket_create,     .body = TICKET_FIELDS, .body_count = &TICKET_FIELD_COUNT, .help = "a ticket for a browser's WebSocket, in its address instead of a key: one minute, one use" },
	{ "POST",   "/v1/sessions/:id/snapshots",           ACCESS_TENANT, v1_snapshot_create,   .hold = SHARE_MAY_LAST, .body = SNAPSHOT_FIELDS, .body_count = &SNAPSHOT_FIELD_COUNT, .query = "wait", .help = "keep its files as they are now, while it goes on; `?wait=` seconds" },
	{ "GET",    "/v1/sessions/:id/snapshots",           ACCESS_READ,   v1_snapshot_list,     .query = "limit cursor", .help = "its snapshots, newest first; `?limit=` `?cursor=`" },
	{ "DELETE", "/v1/sessions/:id/snapshots/:snapshot", ACCESS_TENANT, v1_snapshot_delete,   .help = "delete one of its snapshots" },
	{ "GET",    "/v1/snapshots",                        ACCESS_READ,   v1_snapshot_list,     .query = "limit cursor", .help = "all snapshots of the org, also of sessions that are gone; `?limit=` `?cursor=`" },
	{ "GET",    "/v1/snapshots/:snapshot",              ACCESS_READ,   v1_snapshot_get,      .help = "one of them" },
	{ "DELETE", "/v1/snapshots/:snapshot",              ACCESS_TENANT, v1_snapshot_delete,   .help = "delete it; sessions that were made of it keep their files" },
	{ "POST",   "/v1/sessions/:id/executions",          ACCESS_TENANT, v1_session_execution_create, .body = EXECUTION_FIELDS, .body_count = &EXECUTION_FIELD_COUNT, .query = "wait", .help = "run a command within limits, after those that wait; `?wait=` seconds for its end" },
	{ "GET",    "/v1/sessions/:id/executions",          ACCESS_READ,   v1_execution_list,    .query = "state agentType limit cursor", .help = "its executions, newest first; `?state=` `?agentType=` `?limit=` `?cursor=`" },
	{ "POST",   "/v1/executions",                       ACCESS_TENANT, v1_execution_run,     .body = RUN_FIELDS, .body_count = &RUN_FIELD_COUNT, .query = "wait", .help = "run a command in a session of its own, which is deleted afterwards; `?wait=` seconds for its end" },
	{ "POST",   "/api/agents/execute",                  ACCESS_TENANT, v1_execution_run,     .body = RUN_FIELDS, .body_count = &RUN_FIELD_COUNT, .query = "wait", .help = "the same, for clients that send `{taskId, agentType, context}` there" },
	{ "GET",    "/v1/executions",                       ACCESS_READ,   v1_execution_list,    .query = "state agentType limit cursor", .help = "all executions of the org, also of sessions that are gone" },
	{ "GET",    "/v1/executions/:execution",            ACCESS_READ,   v1_execution_get,     .query = "wait", .help = "state, result, usage and attempts; `?wait=` seconds for its end" },
	{ "DELETE", "/v1/executions/:execution",            ACCESS_TENANT, v1_execution_cancel,  .help = "end it: 200 with its end, or 202 until it has ended" },
	{ "GET",    "/v1/executions/:execution/logs",       ACCESS_READ,   v1_execution_logs,    .query = "stream offset wait", .help = "output after `?offset=` bytes; `?stream=` stdout or stderr; `?wait=` seconds for more" },
	{ "GET",    "/v1/executions/:execution/stream",     ACCESS_READ,   v1_execution_stream,  .help = "its output as server-sent events, from `Last-Event-ID` on; while it runs a redirect (307) to its session" },
	{ "GET",    "/v1/executions/:execution/recording",  ACCESS_READ,   v1_execution_recording, .help = "its output with the times, as asciicast v2" },
	{ "GET",    "/v1/executions/:execution/artifacts",  ACCESS_READ,   v1_execution_artifacts, .query = "path kind", .help = "the files that it has left; `?path=` one of them, `?kind=log` all output, as an attachment" },
	{ "POST",   "/v1/triggers",                         ACCESS_TENANT, v1_trigger_create,    .body = TRIGGER_FIELDS, .body_count = &TRIGGER_FIELD_COUNT, .help = "run an execution at times of a schedule" },
	{ "GET",    "/v1/triggers",                         ACCESS_READ,   v1_triggers,          .help = "all triggers of the org, by name" },
	{ "GET",    "/v1/triggers/:trigger",                ACCESS_READ,   v1_trigger_get,       .help = "when it is due, and what became of it the last time" },
	{ "PATCH",  "/v1/triggers/:trigger",                ACCESS_TENANT, v1_trigger_patch,     .body = TRIGGER_PATCH_FIELDS, .body_count = &TRIGGER_PATCH_FIELD_COUNT, .help = "change it, or disable it" },
	{ "DELETE", "/v1/triggers/:trigger",                ACCESS_TENANT, v1_trigger_delete,    .help = "delete it; its executions stay" },
	{ "GET",    "/v1/sessions/:id/statistics",          ACCESS_READ,   v1_statistics,        .help = "processor time, memory, processes and disk now, of the session and of its sandbox" },
	{ "GET",    "/v1/sessions/:id/statistics/history",  ACCESS_READ,   v1_statistics_history, .query = "since until limit cursor", .help = "samples of the last 7 days, oldest first; `?since=` `?until=` dates `?limit=` `?cursor=`" },
	{ "GET",    "/v1/sandboxes/:sandbox/statistics",    ACCESS_READ,   v1_statistics,        .help = "the same of a whole sandbox" },
	{ "GET",    "/v1/sandboxes/:sandbox/statistics/history", ACCESS_READ, v1_statistics_history, .query = "since until limit cursor", .help = "samples of a whole sandbox" },
	{ "POST",   "/v1/webhooks",                         ACCESS_ADMIN,  v1_webhook_create,    .body = WEBHOOK_FIELDS, .body_count = &WEBHOOK_FIELD_COUNT, .help = "have events sent to a server; the answer has the secret that signs them" },
	{ "GET",    "/v1/webhooks",                         ACCESS_ADMIN,  v1_webhook_list,      .help = "the org's webhooks" },
	{ "GET",    "/v1/webhooks/:webhook",                ACCESS_ADMIN,  v1_webhook_get,       .help = "one of them" },
	{ "PATCH",  "/v1/webhooks/:webhook",                ACCESS_ADMIN,  v1_webhook_patch,     .body = WEBHOOK_PATCH_FIELDS, .body_count = &WEBHOOK_PATCH_FIELD_COUNT, .help = "change url or events, disable it, make a new secret" },
	{ "DELETE", "/v1/webhooks/:webhook",                ACCESS_ADMIN,  v1_webhook_delete,    .help = "delete it, and what it waits to send" },
	{ "GET",    "/v1/webhooks/:webhook/deliveries",     ACCESS_ADMIN,  v1_webhook_deliveries, .query = "limit cursor", .help = "what was sent and what waits, newest first; `?limit=` `?cursor=`" },
	{ "POST",   "/v1/webhooks/:webhook/test",           ACCESS_ADMIN,  v1_webhook_test,      .help = "send an event `test`" },
	{ "POST",   "/v1/webhooks/:webhook/deliveries/:delivery/redeliver", ACCESS_ADMIN, v1_webhook_redeliver, .help = "send a delivery again, now" },
	{ "GET",    "/v1/audit",                            ACCESS_ADMIN,  v1_audit,             .query = "after severity kind limit", .help = "refusals and what operators did, in order; `?after=` id `?severity=` `?kind=` `?limit=`" },
	{ "GET",    "/v1/reaper/runs",                      ACCESS_ADMIN,  v1_reaper_runs,       .query = "limit cursor", .help = "what passes of the reaper did, newest first; `?limit=` `?cursor=`" },
};
/* clang-format on */
const size_t ROUTE_COUNT = ARRAY_LEN(ROUTES);

/* clang-format off */
const struct route CONTAINER_ROUTES[] = {
	{ "POST",   "/v1/sessions/:id/api/expose-port",         ACCESS_TENANT, container_port_expose },
	{ "GET",    "/v1/sessions/:id/api/exposed-ports",       ACCESS_READ,   container_port_list   },
	{ "DELETE", "/v1/sessions/:id/api/exposed-ports/:port", ACCESS_TENANT, container_port_remove },
};
/* clang-format on */
const size_t CONTAINER_ROUTE_COUNT = ARRAY_LEN(CONTAINER_ROUTES);

void
routes_print(FILE *to)
{
	for (size_t i = 0; i < ROUTE_COUNT; i++)
		fprintf(to, "| `%s` | `%s` | %s | %s |\n", ROUTES[i].method,
		    ROUTES[i].pattern, ACCESS_NAMES[ROUTES[i].access],
		    ROUTES[i].help);
}
