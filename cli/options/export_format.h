/*
 * The --format option of the commands that write files for other programs: a name from the table of
 * exporters.
 */
#ifndef SPROF_EXPORT_FORMAT_H
#define SPROF_EXPORT_FORMAT_H

struct argp_state;
struct exporter;

/* The exporter of that name. A name that no exporter has ends the program with a usage error. */
const struct exporter *export_parse_format(const char *name, struct argp_state *state);

/*
 * Reports that `what` could not be written in that format; err is what exporter.write() returned.
 */
void export_report_error(const struct exporter *exporter, int err, const char *what);

#endif
