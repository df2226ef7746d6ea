/* The record command; see cli/commands.h. */
#ifndef SPROF_CMD_RECORD_H
#define SPROF_CMD_RECORD_H

#include "cli/commands.h"

extern const struct command cmd_record;

#endif
