/* The diff command; see cli/commands.h. */
#ifndef SPROF_CMD_DIFF_H
#define SPROF_CMD_DIFF_H

#include "cli/commands.h"

extern const struct command cmd_diff;

#endif
