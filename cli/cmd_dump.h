/* The dump command; see cli/commands.h. */
#ifndef SPROF_CMD_DUMP_H
#define SPROF_CMD_DUMP_H

#include "cli/commands.h"

extern const struct command cmd_dump;

#endif
