/* The imports command; see cli/commands.h. */
#ifndef SPROF_CMD_IMPORTS_H
#define SPROF_CMD_IMPORTS_H

#include "cli/commands.h"

extern const struct command cmd_imports;

#endif
