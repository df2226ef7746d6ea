/* The making of the shared region (base/region.h), and emptying it between two recorders. */
#ifndef SPROF_GPU_AGENT_REGION_MAP_H
#define SPROF_GPU_AGENT_REGION_MAP_H

struct gpu_region;

/*
 * Maps the page behind agent.alive, once. 0 or -errno. Comes before everything else: a child that
 * is forked later must find it.
 */
int region_map_alive(void);
/*
 * Maps the region and sets agent.region. 0 or -errno. Last: agent.region says that all is prepared.
 */
int region_map(void);
/*
 * In a forked child: maps the parent's region for reading, closes its descriptor, and leaves agent
 * without a region. NULL where the descriptor is gone. To be unmapped by region_unmap_parent().
 */
const struct gpu_region *region_of_parent(void);
void region_unmap_parent(const struct gpu_region *parent);
/*
 * Zeroes what the last recorder was told: folds, API calls, counters, peaks, drops and times. Kept
 * are strings, stacks, range paths, devices and what is allocated on them. Only while nothing is
 * collected.
 */
void region_forget(void);

#endif
