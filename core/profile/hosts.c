/* A profile of one host has no names of hosts but that of its recording. */
#include "core/profile/hosts.h"

#include "core/base/alloc.h"
#include "core/base/number_map.h"

const char *hosts_name(const struct profile *p, uint64_t process)
{
	uint64_t host = process >> 32;

	if (!host)
		host = p->first_host == PROFILE_NONE ? p->meta.hostname : p->first_host;
	return host < p->nr_strings ? profile_str(p, (uint32_t)host) : "";
}

const char *hosts_suffix(const struct profile *p, uint64_t process)
{
	return p->has_hosts ? hosts_name(p, process) : "";
}

uint32_t *hosts_numbers(const struct profile *p)
{
	uint32_t *numbers = xcalloc(p->nr_threads + 1, sizeof(*numbers)), nr_others = 0;
	struct number_map of_process = { 0 }, pids = { 0 };
	bool is_new, is_first;

	for (size_t i = 0; i < p->nr_threads; i++) {
		const struct profile_thread *t = &p->threads[i];
		uint32_t *number = number_map_at(&of_process, hosts_process(t), &is_new);

		if (is_new) {
			number_map_at(&pids, t->pid, &is_first);
			*number = is_first ? t->pid : FIRST_OTHER_PID + nr_others++;
		}
		numbers[i] = *number;
	}
	number_map_fini(&of_process);
	number_map_fini(&pids);
	return numbers;
}
