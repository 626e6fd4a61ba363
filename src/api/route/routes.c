/* routes.c: lists all routes of the HTTP API. */
#include "api/route/routes.h"

#include "api/gate/access.h"
#include "api/org_share.h"
#include "api/route/openapi.h"
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
	{ "GET",    "/v1/classes",                          ACCESS_READ,   v1_classes,           .help = "classes that a session may be created with, and their limits" },
	{ "GET",    "/v1/presets",                          ACCESS_READ,   v1_presets,           .help = "names for lists of hosts, for `network.allow`" },
	{ "GET",    "/v1/profiles",                         ACCESS_READ,   v1_profiles,          .help = "limits and network of each agent type" },
	{ "GET",    "/v1/profiles/:type",                   ACCESS_READ,   v1_profile_get,       .help = "one of them" },
	{ "PUT",    "/v1/profiles/:type",                   ACCESS_ADMIN,  v1_profile_put,       .body = PROFILE_FIELDS, .body_count = &PROFILE_FIELD_COUNT, .help = "the org's own profile of an agent type" },
	{ "DELETE", "/v1/profiles/:type",                   ACCESS_ADMIN,  v1_profile_delete,    .help = "the service's profile again" },
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
