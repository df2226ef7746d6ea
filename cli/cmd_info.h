/* The info command; see cli/commands.h. */
#ifndef SPROF_CMD_INFO_H
#define SPROF_CMD_INFO_H

#include "cli/commands.h"

extern const struct command cmd_info;

#endif
