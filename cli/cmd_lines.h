/* The lines command; see cli/commands.h. */
#ifndef SPROF_CMD_LINES_H
#define SPROF_CMD_LINES_H

#include "cli/commands.h"

extern const struct command cmd_lines;

#endif
