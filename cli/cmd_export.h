/* sprof export: writes a profile for other programs. */
#ifndef SPROF_CMD_EXPORT_H
#define SPROF_CMD_EXPORT_H

#include "cli/commands.h"

struct argp_state;
struct exporter;

/* A format by its name; ends the program where there is none. */
const struct exporter *export_parse_format(const char *name, struct argp_state *state);

extern const struct command cmd_export;

#endif
