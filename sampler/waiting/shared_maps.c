/*
 * What a walk writes stays apart, because one walk may interrupt another: walk states, buffers,
 * known code objects. What all walks read, and the ring, are the same maps.
 */
#include "sampler/waiting/shared_maps.h"

#include <errno.h>
#include <stddef.h>

#include <bpf/libbpf.h>

int shared_map(struct bpf_object *to, const struct bpf_object *from, const char *name)
{
	struct bpf_map *own = bpf_object__find_map_by_name(to, name);
	const struct bpf_map *other = bpf_object__find_map_by_name(from, name);

	return own && other ? bpf_map__reuse_fd(own, bpf_map__fd(other)) : -ENOENT;
}

int shared_maps_of_walks(struct bpf_object *to, const struct bpf_object *from)
{
	static const char *const names[] = {
		"processes", "stack_slots", "counters",	   "ring",    "cgroups",    "arena",
		"rules",     "modules",	    "known_rules", "pythons", "code_slots",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		int err = shared_map(to, from, names[i]);

		if (err)
			return err;
	}
	return 0;
}
