/* The report command; see cli/commands.h. */
#ifndef SPROF_CMD_REPORT_H
#define SPROF_CMD_REPORT_H

#include "cli/commands.h"

extern const struct command cmd_report;

#endif
