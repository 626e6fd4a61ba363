/* executions.h: takes the results of executions that nobody asks for. */
#ifndef SANDLEASE_REAPER_EXECUTIONS_H
#define SANDLEASE_REAPER_EXECUTIONS_H

#include "reaper/pass.h"

/* Asks for each execution that a wrapper of this host has. */
void executions_look(struct pass *p);

/* Removes output and files of executions that are too old. */
void executions_artifacts(struct pass *p);

#endif
