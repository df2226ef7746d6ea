/* The doctor command; see cli/commands.h. */
#ifndef SPROF_CMD_DOCTOR_H
#define SPROF_CMD_DOCTOR_H

#include "cli/commands.h"

extern const struct command cmd_doctor;

#endif
