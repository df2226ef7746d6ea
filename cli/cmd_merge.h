/* The merge command; see cli/commands.h. */
#ifndef SPROF_CMD_MERGE_H
#define SPROF_CMD_MERGE_H

#include "cli/commands.h"

extern const struct command cmd_merge;

#endif
