/* sprof export: writes a profile for other programs. */
#ifndef SPROF_CMD_EXPORT_H
#define SPROF_CMD_EXPORT_H

#include "cli/commands.h"

extern const struct command cmd_export;

#endif
