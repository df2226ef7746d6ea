/*
 * The kernel returns a value for each possible CPU, online or not, so the buffer must have room for
 * all of them.
 */
#include "sampler/events/percpu_map.h"

#include <stdlib.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "core/base/alloc.h"

uint64_t percpu_map_sum(int map_fd, uint32_t key)
{
	int nr_cpus = libbpf_num_possible_cpus();
	uint64_t *values, sum = 0;

	if (nr_cpus <= 0)
		return 0;
	values = xcalloc((size_t)nr_cpus, sizeof(*values));
	if (!bpf_map_lookup_elem(map_fd, &key, values))
		for (int i = 0; i < nr_cpus; i++)
			sum += values[i];
	free(values);
	return sum;
}
