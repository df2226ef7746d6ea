/* The flame command; see cli/commands.h. */
#ifndef SPROF_CMD_FLAME_H
#define SPROF_CMD_FLAME_H

#include "cli/commands.h"

extern const struct command cmd_flame;

#endif
