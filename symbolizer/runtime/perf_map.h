/*
 * Reads perf-PID.map, in which a JIT compiler lists its code: one "start size name" per line, in
 * hexadecimal, appended as it compiles. Code memory is reused, so later lines replace earlier ones.
 */
#ifndef SPROF_PERF_MAP_H
#define SPROF_PERF_MAP_H

#include <stddef.h>
#include <stdint.h>

struct perf_map;

/*
 * Finds the names of `addresses` (sorted, unique; copied) in the text of a map. The result takes
 * over the text; text[size] is NUL. Lines that make no sense are skipped.
 */
struct perf_map *perf_map_new(char *text, size_t size, const uint64_t *addresses, size_t nr);
void perf_map_free(struct perf_map *map);

/* Returns the name of one of those addresses, or NULL. */
const char *perf_map_lookup(const struct perf_map *map, uint64_t address);

/*
 * Opens the map of process pid, in the root and the PID namespace of the process or in ours.
 * Everyone may write to /tmp: only a regular file that belongs to the user of the process, to us or
 * to root is accepted. A descriptor or -errno.
 */
int perf_map_open(uint32_t pid);

#endif
