/* The fold command; see cli/commands.h. */
#ifndef SPROF_CMD_FOLD_H
#define SPROF_CMD_FOLD_H

#include "cli/commands.h"

extern const struct command cmd_fold;

#endif
