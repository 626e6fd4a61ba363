/*
 * code.h: lists the error codes, by which programs tell errors apart.
 *
 * A code is stable: clients compare it, and so do agents of other releases.
 * Inside our programs a code is a constant.  Its word is written where an error
 * leaves a program and parsed where one enters, and nowhere else.  nginx sends
 * some of the codes by itself (nginx/).  To add a code, add a row here;
 * t/lint/codes.t finds codes that are no longer used.
 */
#ifndef SANDLEASE_COMMON_CODE_H
#define SANDLEASE_COMMON_CODE_H

#include <stdbool.h>
#include <stddef.h>

/* clang-format off */
#define ERR_CODES(X) \
	X(AGENT_ERROR,              "agent_error") \
	X(ALREADY_ADOPTED,          "already_adopted") \
	X(ALREADY_EXISTS,           "already_exists") \
	X(ALREADY_RUNNING,          "already_running") \
	X(AMBIGUOUS,                "ambiguous") \
	X(ANSWER_NOT_KEPT,          "answer_not_kept") \
	X(ARTIFACT_GONE,            "artifact_gone") \
	X(ARTIFACT_NOT_FOUND,       "artifact_not_found") \
	X(BACKUP_CREATE_FAILED,     "backup_create_failed") \
	X(BACKUP_NOT_FOUND,         "backup_not_found") \
	X(BACKUP_RESTORE_FAILED,    "backup_restore_failed") \
	X(BAD_CWD,                  "bad_cwd") \
	X(BAD_INCARNATION,          "bad_incarnation") \
	X(BAD_REQUEST,              "bad_request") \
	X(BAD_SANDBOX_ID,           "bad_sandbox_id") \
	X(BAD_SANDBOX_NAME,         "bad_sandbox_name") \
	X(BAD_SESSION_ID,           "bad_session_id") \
	X(BAD_SETTING,              "bad_setting") \
	X(BAD_SNAPSHOT_ID,          "bad_snapshot_id") \
	X(BASE_URL_ALREADY_SET,     "base_url_already_set") \
	X(BEING_STARTED,            "being_started") \
	X(BODY_INCOMPLETE,          "body_incomplete") \
	X(BODY_TOO_LARGE,           "body_too_large") \
	X(BROKEN,                   "broken") \
	X(BROWSER,                  "browser") \
	X(BUSY,                     "busy") \
	X(CALL_LEFT,                "call_left") \
	X(CANNOT_KEEP,              "cannot_keep") \
	X(CANNOT_SUSPEND,           "cannot_suspend") \
	X(CLASS_WITHOUT_NETWORK,    "class_without_network") \
	X(CODE_EXECUTION_ERROR,     "code_execution_error") \
	X(COMMAND_EXECUTION_ERROR,  "command_execution_error") \
	X(COMMAND_NOT_FOUND,        "command_not_found") \
	X(CONFIG,                   "config") \
	X(CONNECTION_LOST,          "connection_lost") \
	X(CONTAINER_REPLACED,       "container_replaced") \
	X(CONTAINER_STARTING,       "container_starting") \
	X(CONTAINER_UNAVAILABLE,    "container_unavailable") \
	X(CONTEXT_NOT_FOUND,        "context_not_found") \
	X(COPYING,                  "copying") \
	X(CORRELATION_CONFLICT,     "correlation_conflict") \
	X(DATABASE_UNAVAILABLE,     "database_unavailable") \
	X(DELIVERY_NOT_FOUND,       "delivery_not_found") \
	X(DOCTOR,                   "doctor") \
	X(DRAINING,                 "draining") \
	X(EGRESS_UNAVAILABLE,       "egress_unavailable") \
	X(ENDED,                    "ended") \
	X(ENGINE_BROKEN,            "engine_broken") \
	X(EXECUTION_ALREADY_EXISTS, "execution_already_exists") \
	X(EXECUTION_NOT_FOUND,      "execution_not_found") \
	X(EXECUTION_QUEUE_FULL,     "execution_queue_full") \
	X(EXECUTION_RUNS,           "execution_runs") \
	X(FAILED,                   "failed") \
	X(FILE_EXISTS,              "file_exists") \
	X(FILE_NOT_FOUND,           "file_not_found") \
	X(FILE_TOO_LARGE,           "file_too_large") \
	X(FILESYSTEM_ERROR,         "filesystem_error") \
	X(FORBIDDEN,                "forbidden") \
	X(GIT_AUTH_FAILED,          "git_auth_failed") \
	X(GIT_BRANCH_NOT_FOUND,     "git_branch_not_found") \
	X(GIT_CLONE_FAILED,         "git_clone_failed") \
	X(GIT_NETWORK_ERROR,        "git_network_error") \
	X(GIT_OPERATION_FAILED,     "git_operation_failed") \
	X(GIT_REPOSITORY_NOT_FOUND, "git_repository_not_found") \
	X(HEADERS_TOO_LARGE,        "headers_too_large") \
	X(HOST_NOT_READY,           "host_not_ready") \
	X(IDEMPOTENCY_MISMATCH,     "idempotency_mismatch") \
	X(INPUT_CLOSED,             "input_closed") \
	X(INPUT_FULL,               "input_full") \
	X(INSUFFICIENT_STORAGE,     "insufficient_storage") \
	X(INTERNAL,                 "internal") \
	X(INTERNAL_ERROR,           "internal_error") \
	X(INTERPRETER_NOT_READY,    "interpreter_not_ready") \
	X(INTERRUPTED,              "interrupted") \
	X(INVALID_BACKUP_CONFIG,    "invalid_backup_config") \
	X(INVALID_COMMAND,          "invalid_command") \
	X(INVALID_GIT_URL,          "invalid_git_url") \
	X(INVALID_PORT_NUMBER,      "invalid_port_number") \
	X(INVALID_REQUEST,          "invalid_request") \
	X(INVALID_TICKET,           "invalid_ticket") \
	X(INVALID_TOKEN,            "invalid_token") \
	X(IS_DIRECTORY,             "is_directory") \
	X(JAVASCRIPT_NOT_AVAILABLE, "javascript_not_available") \
	X(JOB_ENDED,                "job_ended") \
	X(JOB_FAILED,               "job_failed") \
	X(JOB_RUNS,                 "job_runs") \
	X(JOBS_BUSY,                "jobs_busy") \
	X(KEY_NOT_FOUND,            "key_not_found") \
	X(LAUNCH_FAILED,            "launch_failed") \
	X(LEASE_BUSY,               "lease_busy") \
	X(LEASE_CHANGED,            "lease_changed") \
	X(LENGTH_REQUIRED,          "length_required") \
	X(LIMIT_TOO_HIGH,           "limit_too_high") \
	X(LOST,                     "lost") \
	X(MESSAGE_TOO_LARGE,        "message_too_large") \
	X(METHOD_NOT_ALLOWED,       "method_not_allowed") \
	X(MOVED,                    "moved") \
	X(NAME_TAKEN,               "name_taken") \
	X(NAME_TOO_LONG,            "name_too_long") \
	X(NO_CGROUP,                "no_cgroup") \
	X(NO_LEASE,                 "no_lease") \
	X(NO_ROOTFS,                "no_rootfs") \
	X(NO_ROUTE_OUT,             "no_route_out") \
	X(NO_SANDBOX,               "no_sandbox") \
	X(NO_SPACE,                 "no_space") \
	X(NO_SPACE_LEFT,            "no_space_left") \
	X(NO_STORAGE,               "no_storage") \
	X(NO_SUCH_PROVIDER,         "no_such_provider") \
	X(NO_SUCH_SESSION,          "no_such_session") \
	X(NOT_A_DIRECTORY,          "not_a_directory") \
	X(NOT_DIRECTORY,            "not_directory") \
	X(NOT_DRAINED,              "not_drained") \
	X(NOT_FOUND,                "not_found") \
	X(NOT_FROZEN,               "not_frozen") \
	X(NOT_IMPLEMENTED,          "not_implemented") \
	X(NOT_LISTENING,            "not_listening") \
	X(NOT_OURS,                 "not_ours") \
	X(NOT_PROVED,               "not_proved") \
	X(NOT_READY,                "not_ready") \
	X(NOT_SERVING,              "not_serving") \
	X(OPERATION_INTERRUPTED,    "operation_interrupted") \
	X(ORG_NOT_FOUND,            "org_not_found") \
	X(ORIGIN_MISMATCH,          "origin_mismatch") \
	X(OTHER_HOST,               "other_host") \
	X(PARSE_ERROR,              "parse_error") \
	X(PEER_CLOSED,              "peer_closed") \
	X(PERMISSION_DENIED,        "permission_denied") \
	X(PORT_ALREADY_EXPOSED,     "port_already_exposed") \
	X(PORT_NOT_EXPOSED,         "port_not_exposed") \
	X(PRECONDITION_FAILED,      "precondition_failed") \
	X(PREVIEW_UNAVAILABLE,      "preview_unavailable") \
	X(PROCESS_ALREADY_EXISTS,   "process_already_exists") \
	X(PROCESS_ERROR,            "process_error") \
	X(PROCESS_NOT_FOUND,        "process_not_found") \
	X(PROFILE_NOT_FOUND,        "profile_not_found") \
	X(PYTHON_NOT_AVAILABLE,     "python_not_available") \
	X(QUOTA_EXCEEDED,           "quota_exceeded") \
	X(RANGE_NOT_SATISFIABLE,    "range_not_satisfiable") \
	X(READ_ONLY,                "read_only") \
	X(REDIRECTED,               "redirected") \
	X(REFUSED,                  "refused") \
	X(REQUEST_TIMEOUT,          "request_timeout") \
	X(RESOURCE_BUSY,            "resource_busy") \
	X(SANDBOX_BUSY,             "sandbox_busy") \
	X(SANDBOX_NOT_FOUND,        "sandbox_not_found") \
	X(SANDBOX_SILENT,           "sandbox_silent") \
	X(SANDBOX_TAKEN,            "sandbox_taken") \
	X(SCHEDULE_NEVER,           "schedule_never") \
	X(SEAL_BROKEN,              "seal_broken") \
	X(SEAL_KEY_MISSING,         "seal_key_missing") \
	X(SERVICE_NOT_RESPONDING,   "service_not_responding") \
	X(SERVICE_UNAVAILABLE,      "service_unavailable") \
	X(SESSION_ALREADY_EXISTS,   "session_already_exists") \
	X(SESSION_ASLEEP,           "session_asleep") \
	X(SESSION_DELETED,          "session_deleted") \
	X(SESSION_DELETING,         "session_deleting") \
	X(SESSION_DESTROYED,        "session_destroyed") \
	X(SESSION_DIFFERS,          "session_differs") \
	X(SESSION_FAILED,           "session_failed") \
	X(SESSION_FROZEN,           "session_frozen") \
	X(SESSION_LOST,             "session_lost") \
	X(SESSION_NOT_FOUND,        "session_not_found") \
	X(SESSION_NOT_READY,        "session_not_ready") \
	X(SESSION_TERMINATED,       "session_terminated") \
	X(SETUP_FAILED,             "setup_failed") \
	X(SETUP_RUNNING,            "setup_running") \
	X(SETUP_STOPPED,            "setup_stopped") \
	X(SNAPSHOT_FAILED,          "snapshot_failed") \
	X(SNAPSHOT_LOST,            "snapshot_lost") \
	X(SNAPSHOT_NOT_FOUND,       "snapshot_not_found") \
	X(SNAPSHOT_NOT_READY,       "snapshot_not_ready") \
	X(STALE_GENERATION,         "stale_generation") \
	X(STALE_INCARNATION,        "stale_incarnation") \
	X(STALE_ORDER,              "stale_order") \
	X(STALE_PREVIEW_URL,        "stale_preview_url") \
	X(START_FAILED,             "start_failed") \
	X(START_STOPPED,            "start_stopped") \
	X(STATE,                    "state") \
	X(STILL_RUNNING,            "still_running") \
	X(STILL_THERE,              "still_there") \
	X(STORAGE_GONE,             "storage_gone") \
	X(STORAGE_MISMATCH,         "storage_mismatch") \
	X(STREAM_ERROR,             "stream_error") \
	X(TAR,                      "tar") \
	X(TERMINAL_ENDED,           "terminal_ended") \
	X(TERMINAL_ERROR,           "terminal_error") \
	X(TERMINAL_NOT_FOUND,       "terminal_not_found") \
	X(TIMED_OUT,                "timed_out") \
	X(TOO_LARGE,                "too_large") \
	X(TOO_MANY_AT_ONCE,         "too_many_at_once") \
	X(TOO_MANY_CONNECTIONS,     "too_many_connections") \
	X(TOO_MANY_CONTEXTS,        "too_many_contexts") \
	X(TOO_MANY_FILES,           "too_many_files") \
	X(TOO_MANY_KEYS,            "too_many_keys") \
	X(TOO_MANY_LABELS,          "too_many_labels") \
	X(TOO_MANY_LINKS,           "too_many_links") \
	X(TOO_MANY_PORTS,           "too_many_ports") \
	X(TOO_MANY_PROCESSES,       "too_many_processes") \
	X(TOO_MANY_SESSIONS,        "too_many_sessions") \
	X(TOO_MANY_STREAMS,         "too_many_streams") \
	X(TOO_MANY_TERMINALS,       "too_many_terminals") \
	X(TOO_MANY_TICKETS,         "too_many_tickets") \
	X(TRANSACTION_POOLING,      "transaction_pooling") \
	X(TRIGGER_NOT_FOUND,        "trigger_not_found") \
	X(TRY_AGAIN,                "try_again") \
	X(UNAUTHORIZED,             "unauthorized") \
	X(UNAVAILABLE,              "unavailable") \
	X(UNKNOWN,                  "unknown") \
	X(UNKNOWN_AGENT_TYPE,       "unknown_agent_type") \
	X(UNKNOWN_CLASS,            "unknown_class") \
	X(UNKNOWN_ERROR,            "unknown_error") \
	X(UNKNOWN_OP,               "unknown_op") \
	X(UNKNOWN_PRESET,           "unknown_preset") \
	X(UNKNOWN_TIME_ZONE,        "unknown_time_zone") \
	X(UNREACHABLE,              "unreachable") \
	X(UNREADABLE,               "unreadable") \
	X(UNRESOLVED,               "unresolved") \
	X(UNTRUSTED,                "untrusted") \
	X(UPGRADE_REQUIRED,         "upgrade_required") \
	X(URI_TOO_LONG,             "uri_too_long") \
	X(USAGE,                    "usage") \
	X(VALIDATION_FAILED,        "validation_failed") \
	X(WAKING,                   "waking") \
	X(WATCH_START_ERROR,        "watch_start_error") \
	X(WEBHOOK_DISABLED,         "webhook_disabled") \
	X(WEBHOOK_NOT_FOUND,        "webhook_not_found") \
	X(WORKER_LATE,              "worker_late") \
	X(WRAPPER_UNAVAILABLE,      "wrapper_unavailable") \
	X(WRAPPER_UNRESPONSIVE,     "wrapper_unresponsive") \
	X(WRONG_INCARNATION,        "wrong_incarnation")
/* clang-format on */

enum err_code {
	CODE_NONE, /* no error, or an error without a code */
#define CODE_CONSTANT(name, word) CODE_##name,
	ERR_CODES(CODE_CONSTANT)
#undef CODE_CONSTANT
	    CODE__MAX
};

/* The word in problem documents, on the control channel and in the log. */
const char *code_word(enum err_code code);

/* The same in capitals, as the SDK expects it: LEASE_BUSY for lease_busy. */
const char *code_capitals(enum err_code code);

/*
 * Parses a word from outside, in lower case or capitals.  CODE_NONE for a word
 * that only another release knows: the caller keeps the word, for people to
 * read.
 */
enum err_code code_parse(const char *word);

/* True when `code` is one of the constants that follow it. */
#define CODE_IS_ONE_OF(code, ...)                                              \
	code_is_in(code, (const enum err_code[]){ __VA_ARGS__ },               \
	    sizeof((const enum err_code[]){ __VA_ARGS__ }) /                   \
		sizeof(enum err_code))
bool code_is_in(enum err_code code, const enum err_code *list, size_t count);

#endif
