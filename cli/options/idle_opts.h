/*
 * Options of the commands that fold idle waits away: --idle and --idle-in.
 */
#ifndef SPROF_IDLE_OPTS_H
#define SPROF_IDLE_OPTS_H

#include <argp.h>

/* The input is a struct idle **, NULL before the first option; the caller frees it. */
extern const struct argp idle_argp;

#endif
