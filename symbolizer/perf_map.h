/*
 * perf-PID.map, where a JIT compiler writes what it compiled: one "start size name" per line, in
 * hexadecimal, appended as it compiles. Code memory is reused, so later lines replace earlier ones.
 */
#ifndef SPROF_PERF_MAP_H
#define SPROF_PERF_MAP_H

#include <stddef.h>
#include <stdint.h>

struct perf_map;

/*
 * The names of `addresses` (sorted, unique; copied) in a map's text, which the result takes over:
 * text[size] is NUL. Lines that make no sense are passed over.
 */
struct perf_map *perf_map_new(char *text, size_t size, const uint64_t *addresses, size_t nr);
void perf_map_free(struct perf_map *map);

/* The name of one of those addresses, or NULL. */
const char *perf_map_lookup(const struct perf_map *map, uint64_t address);

/*
 * Opens the map of process pid: in the process's own root and pid namespace, or ours. /tmp is open
 * to everyone: only a regular file that belongs to the process's user, to us, or to root is taken.
 * A descriptor or -errno.
 */
int perf_map_open(uint32_t pid);

#endif
