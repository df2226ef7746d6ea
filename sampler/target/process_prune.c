/*
 * A process that is ending shows only a part of its mappings, or none, which is why one look is
 * never enough.
 */
#include "sampler/target/process_prune.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "sampler/target/proc_maps.h"
#include "sampler/target/process.h"

#define SELDOM_NS (10ull * 1000 * 1000 * 1000)
#define OFTEN_NS (1000ull * 1000 * 1000)
#define ABSENT_NS (2000ull * 1000 * 1000)
#define PART 50 /* looks take at most 1/50 of the time */
#define GROWN 64

struct range {
	uint64_t start, end;
};

bool process_prune_is_due(const struct process *p, uint64_t now)
{
	const struct process_look *look = &p->look;
	bool grown = p->nr_maps > 2 * look->nr_maps + GROWN;
	uint64_t wait = grown || look->nr_absent ? OFTEN_NS : SELDOM_NS;
	uint64_t since = look->time_ns > p->known_ns ? look->time_ns : p->known_ns;

	if (p->ended_ns || p->exec_pending || (p->nr_maps == look->nr_maps && !look->nr_absent))
		return false;
	if (wait < look->cost_ns * PART)
		wait = look->cost_ns * PART;
	return now >= since + wait;
}

/* The executable ranges of /proc/PID/maps, in order; the caller frees them. */
static struct range *read_ranges(pid_t pid, size_t *ret_nr)
{
	struct range *ranges = NULL;
	char path[64], *line = NULL;
	size_t nr = 0, capacity = 0, size = 0;
	FILE *f;

	*ret_nr = 0;
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return NULL;
	while (getline(&line, &size, f) > 0) {
		struct file_mapping m;
		bool executable;

		if (!proc_maps_parse(line, &m, &executable) || !executable)
			continue;
		ranges = xgrow(ranges, &capacity, nr + 1, sizeof(*ranges));
		ranges[nr++] = (struct range){ m.start, m.end };
	}
	free(line);
	fclose(f);
	*ret_nr = nr;
	return ranges;
}

/* Notes which mappings are absent, and removes those that were absent long ago too. */
static void compare(struct process *p, const struct range *ranges, size_t nr, uint64_t now)
{
	size_t kept = 0, at = 0;

	p->look.nr_absent = 0;
	for (size_t i = 0; i < p->nr_maps; i++) {
		struct mapping m = p->maps[i];

		while (at < nr && ranges[at].end <= m.start)
			at++;
		if (at < nr && ranges[at].start < m.end)
			m.absent_ns = 0;
		else if (!m.absent_ns)
			m.absent_ns = now;
		if (m.absent_ns && now >= m.absent_ns + ABSENT_NS)
			continue;
		p->look.nr_absent += m.absent_ns != 0;
		p->maps[kept++] = m;
	}
	if (kept == p->nr_maps)
		return;
	p->nr_maps = kept;
	p->has_too_many = false;
	p->dirty = true;
	process_new_epoch(p);
}

void process_prune(struct process *p, uint64_t now)
{
	size_t nr;
	struct range *ranges = read_ranges(p->pid, &nr);

	if (nr) /* none: its first thread has ended, or it has no memory any more */
		compare(p, ranges, nr, now);
	free(ranges);
	p->look.time_ns = now;
	p->look.nr_maps = p->nr_maps;
	p->look.cost_ns = monotonic_ns() - now;
}
