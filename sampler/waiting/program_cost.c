/* The sum over all CPUs is in what the kernel says of each program. */
#include "sampler/waiting/program_cost.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "core/base/proc_status.h"

bool program_cost_begin(int *ret_fd)
{
	char text[16];

	*ret_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	if (*ret_fd >= 0)
		return true;
	*ret_fd = -1;
	return !proc_text(text, sizeof(text), "/proc/sys/kernel/bpf_stats_enabled") &&
	       text[0] == '1';
}

uint64_t program_cost_ns(const struct bpf_object *object)
{
	struct bpf_program *program;
	uint64_t sum = 0;

	bpf_object__for_each_program(program, object)
	{
		struct bpf_prog_info info = { 0 };
		uint32_t size = sizeof(info);
		int fd = bpf_program__fd(program);

		if (fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &size))
			sum += info.run_time_ns;
	}
	return sum;
}

static uint32_t id_of(const struct bpf_map *map)
{
	struct bpf_map_info info = { 0 };
	uint32_t size = sizeof(info);

	return map && !bpf_obj_get_info_by_fd(bpf_map__fd(map), &info, &size) ? info.id : 0;
}

static uint64_t map_bytes(const struct bpf_map *map)
{
	char text[1024];
	const char *line;

	if (proc_text(text, sizeof(text), "/proc/self/fdinfo/%d", bpf_map__fd(map)))
		return 0;
	line = strstr(text, "memlock:");
	return line ? strtoull(line + strlen("memlock:"), NULL, 10) : 0;
}

uint64_t program_memory_bytes(const struct bpf_object *object, const struct bpf_object *first)
{
	struct bpf_map *map;
	uint64_t sum = 0;

	bpf_object__for_each_map(map, object)
	{
		uint32_t id = id_of(map);
		const char *name = bpf_map__name(map);

		if (!first || id_of(bpf_object__find_map_by_name(first, name)) != id)
			sum += map_bytes(map);
	}
	return sum;
}
