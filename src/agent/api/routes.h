/*
 * routes.h: routes the calls of one session (the data plane) to handlers.
 */
#ifndef SANDLEASE_AGENT_API_ROUTES_H
#define SANDLEASE_AGENT_API_ROUTES_H

#include "agent/process/process.h"
#include "agent/pty/pty.h"
#include "common/err.h"
#include "web/call.h"

/* The largest JSON body, which is api/write's: 64 MiB in base64 and a path. */
enum { API_WRITE_BODY_MAX = 86 * 1024 * 1024 };

/* Sets the session whose paths are served: /v1/sessions/<session_id>/... */
void routes_open(const char *session_id);

/* Answers one call; a serve_fn. */
void routes_handle(struct call *c);

/* The handlers; each file has those of one noun. */
int api_session_create(struct call *c, struct err *e);
int api_session_list(struct call *c, struct err *e);
int api_session_delete(struct call *c, struct err *e);
int api_execute(struct call *c, struct err *e);
int api_execute_stream(struct call *c, struct err *e);
int api_execution_list(struct call *c, struct err *e);
int api_execution_cancel(struct call *c, struct err *e);
int api_attempt_stream(struct call *c, struct err *e);
int api_process_start(struct call *c, struct err *e);
int api_process_list(struct call *c, struct err *e);
int api_process_get(struct call *c, struct err *e);
int api_process_kill(struct call *c, struct err *e);
int api_process_kill_all(struct call *c, struct err *e);
int api_process_logs(struct call *c, struct err *e);
int api_process_stream(struct call *c, struct err *e);
int api_process_cleanup(struct call *c, struct err *e);
int api_process_input(struct call *c, struct err *e);
int api_process_signal(struct call *c, struct err *e);
int api_mkdir(struct call *c, struct err *e);
int api_write(struct call *c, struct err *e);
int api_read(struct call *c, struct err *e);
int api_read_stream(struct call *c, struct err *e);
int api_delete(struct call *c, struct err *e);
int api_rename(struct call *c, struct err *e);
int api_move(struct call *c, struct err *e);
int api_list_files(struct call *c, struct err *e);
int api_exists(struct call *c, struct err *e);
int api_git_checkout(struct call *c, struct err *e);
int api_backup_create(struct call *c, struct err *e);
int api_backup_restore(struct call *c, struct err *e);
int api_backup_upload_parts(struct call *c, struct err *e);
int api_context_health(struct call *c, struct err *e);
int api_context_create(struct call *c, struct err *e);
int api_context_list(struct call *c, struct err *e);
int api_context_delete(struct call *c, struct err *e);
int api_execute_code(struct call *c, struct err *e);
int api_raw_get(struct call *c, struct err *e);
int api_raw_put(struct call *c, struct err *e);
int api_raw_delete(struct call *c, struct err *e);
int api_archive_get(struct call *c, struct err *e);
int api_archive_put(struct call *c, struct err *e);
int api_terminal_create(struct call *c, struct err *e);
int api_terminal_list(struct call *c, struct err *e);
int api_terminal_get(struct call *c, struct err *e);
int api_terminal_end(struct call *c, struct err *e);
int api_terminal_stream(struct call *c, struct err *e);
int api_terminal_input(struct call *c, struct err *e);
int api_terminal_resize(struct call *c, struct err *e);
int api_port_check(struct call *c, struct err *e);
int api_port_watch(struct call *c, struct err *e);
int api_watch(struct call *c, struct err *e);
int api_watch_check(struct call *c, struct err *e);

/* Finds the terminal that the path names; the caller must release it. */
int api_terminal_find(struct call *c, struct pty **out, struct err *e)
    MUST_CHECK;

/* Finds the process that the path names; the caller must release it. */
int api_process_find(struct call *c, struct process **out, struct err *e)
    MUST_CHECK;
/* Starts a process and answers the call. */
int api_process_launch(struct call *c, const struct process_options *w,
    struct err *e) MUST_CHECK;

#endif
