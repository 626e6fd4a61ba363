/*
 * clear.h: removes what stops leave behind, and what is past its time.
 */
#ifndef SANDLEASE_REAPER_CLEAR_H
#define SANDLEASE_REAPER_CLEAR_H

#include "reaper/pass.h"

/* Deletions whose wrapper is gone. */
void clear_deletions(struct pass *p);
/* Sessions whose stop was cut off one step before they were asleep. */
void clear_sleepers(struct pass *p);
/* Files of sessions that failed a while ago. */
void clear_failed_files(struct pass *p);
/* Sandboxes in which nothing runs. */
void clear_idle_sandboxes(struct pass *p);
/* Destructions that were cut off. */
void clear_destroys(struct pass *p);
/* Rows past their retention. */
void clear_forgotten(struct pass *p);
/* Files in the trash. */
void clear_trash(struct pass *p);

#endif
