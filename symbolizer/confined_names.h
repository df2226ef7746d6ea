/*
 * Names the frames of one module in a child process without rights (core/sandbox): ELF files,
 * DWARF, perf maps and jitdumps of targets are untrusted, and demanglers read names from them.
 */
#ifndef SPROF_CONFINED_NAMES_H
#define SPROF_CONFINED_NAMES_H

#include <stdbool.h>
#include <stddef.h>

struct profile;
struct names_budget;
struct symbolizer_opts;
struct wanted_name;

/*
 * The frames in `wants` are of one module, of kind MODULE_ELF or MODULE_JIT, and sorted. Returns
 * how many got a name. If the child dies or takes too long, it is asked once more without reading
 * DWARF; if that fails too, or the budget for files of other users is used up, a warning says so
 * and the frames have no names.
 */
size_t confined_names_find(struct profile *p, const struct wanted_name *wants, size_t nr,
			   bool matters, const struct symbolizer_opts *opts,
			   struct names_budget *budget);

#endif
