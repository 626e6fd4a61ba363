/*
 * handlers.h: declares the handlers of this room and the fields of their
 * bodies, for the route table.
 *
 * A handler decodes the request, calls src/control once and replies.  If it
 * fails, it returns -1 with e set, and dispatch.c answers.
 */
#ifndef SANDLEASE_API_V1_HANDLERS_H
#define SANDLEASE_API_V1_HANDLERS_H

#include "web/router.h"

handler_fn v1_health, v1_live;
handler_fn v1_login, v1_logout, v1_me;
handler_fn v1_session_create, v1_session_list, v1_session_get, v1_session_patch,
    v1_session_delete, v1_session_resume, v1_session_sleep, v1_session_extend,
    v1_session_interrupt, v1_session_agent_log;
handler_fn v1_session_events, v1_audit, v1_reaper_runs;
handler_fn v1_aliases_put, v1_aliases_delete;
handler_fn v1_usage;
handler_fn v1_classes;
handler_fn v1_presets;
handler_fn v1_profiles, v1_profile_get, v1_profile_put, v1_profile_delete;
handler_fn v1_session_execution_create, v1_execution_run, v1_execution_list,
    v1_execution_get, v1_execution_cancel, v1_execution_logs,
    v1_execution_stream, v1_execution_recording, v1_execution_artifacts,
    v1_execution_days, v1_profile_suggestion;
handler_fn v1_statistics, v1_statistics_history;
handler_fn v1_snapshot_create, v1_snapshot_list, v1_snapshot_get,
    v1_snapshot_delete;
handler_fn v1_triggers, v1_trigger_create, v1_trigger_get, v1_trigger_patch,
    v1_trigger_delete;
handler_fn v1_port_expose, v1_port_list, v1_port_remove, v1_port_rotate;
handler_fn v1_ticket_create;
handler_fn v1_webhook_list, v1_webhook_get, v1_webhook_create, v1_webhook_patch,
    v1_webhook_delete, v1_webhook_deliveries, v1_webhook_test,
    v1_webhook_redeliver;
handler_fn container_port_expose, container_port_list, container_port_remove;

extern const struct jfield LOGIN_FIELDS[];
extern const size_t LOGIN_FIELD_COUNT;
extern const struct jfield ALIASES_FIELDS[];
extern const size_t ALIASES_FIELD_COUNT;
extern const struct jfield PROFILE_FIELDS[];
extern const size_t PROFILE_FIELD_COUNT;
extern const struct jfield TRIGGER_FIELDS[], TRIGGER_PATCH_FIELDS[];
extern const size_t TRIGGER_FIELD_COUNT, TRIGGER_PATCH_FIELD_COUNT;
extern const struct jfield PORT_FIELDS[];
extern const size_t PORT_FIELD_COUNT;
extern const struct jfield TICKET_FIELDS[];
extern const size_t TICKET_FIELD_COUNT;
extern const struct jfield WEBHOOK_FIELDS[], WEBHOOK_PATCH_FIELDS[];
extern const size_t WEBHOOK_FIELD_COUNT, WEBHOOK_PATCH_FIELD_COUNT;

#endif
