/*
 * The mappings of a process are read when a lock is met that lies in none of those known, at most
 * once a second. All these reads have a share of the time: a user can have a hundred processes of
 * 65536 mappings, and locks in all of them. Memory without a name that follows a file's mapping is
 * the rest of its data.
 */
#include "sampler/waiting/lock_places.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash_table.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/path.h"
#include "core/untrusted/remote_read.h"
#include "sampler/target/proc_maps.h"

#define MAX_PROCESSES 64
#define MAX_MAPPINGS 65536
#define READ_AGAIN_NS (1000ull * 1000 * 1000)
#define READS_FIRST_NS (500ull * 1000 * 1000) /* that reads may take at once, */
#define READS_SHARE 20			      /* and of the time after that */

struct place {
	uint64_t start, end;
	uint64_t base; /* the address of the file's offset 0, or of the memory's start */
	char *name;
};

struct known_process {
	pid_t pid;
	uint64_t read_ns;
	struct place *places; /* by address */
	size_t nr, capacity;
	UT_hash_handle hh;
};

struct lock_places {
	struct known_process *processes;
	uint64_t full_ns; /* when the time that reads took is made up for */
};

struct lock_places *lock_places_new(void)
{
	return xcalloc(1, sizeof(struct lock_places));
}

static void forget_mappings(struct known_process *k)
{
	for (size_t i = 0; i < k->nr; i++)
		free(k->places[i].name);
	k->nr = 0;
}

static void forget_all(struct lock_places *p)
{
	struct known_process *k, *next;

	HASH_ITER (hh, p->processes, k, next) {
		HASH_DEL(p->processes, k);
		forget_mappings(k);
		free(k->places);
		free(k);
	}
}

void lock_places_free(struct lock_places *p)
{
	if (!p)
		return;
	forget_all(p);
	free(p);
}

static void add_mapping(struct known_process *k, const struct file_mapping *m)
{
	const struct place *last = k->nr ? &k->places[k->nr - 1] : NULL;
	bool is_file = m->path[0] == '/', follows = last && last->end == m->start;
	struct place new = { .start = m->start, .end = m->end, .base = m->start };
	const char *name = is_file ? path_base_name(m->path) : m->path;

	if (!is_file && !*name) { /* the rest of a file's data, or memory without a name */
		follows = follows && last->name[0] != '[';
		name = follows ? last->name : "[anonymous]";
		new.base = follows ? last->base : m->start;
	} else if (is_file) {
		new.base = follows && !strcmp(last->name, name) ? last->base : m->start - m->pgoff;
	}
	new.name = xstrdup(name);
	k->places = xgrow(k->places, &k->capacity, k->nr + 1, sizeof(*k->places));
	k->places[k->nr++] = new;
}

static void read_mappings(struct known_process *k)
{
	FILE *f = remote_open(k->pid, "maps");
	char *line = NULL;
	size_t size = 0;

	k->read_ns = monotonic_ns();
	if (!f)
		return; /* it has ended: what was known of it stays */
	forget_mappings(k);
	while (k->nr < MAX_MAPPINGS && getline(&line, &size, f) > 0) {
		struct file_mapping m = { .pid = k->pid };
		bool executable;

		if (proc_maps_parse(line, &m, &executable))
			add_mapping(k, &m);
	}
	free(line);
	fclose(f);
}

static const struct place *find(const struct known_process *k, uint64_t address)
{
	size_t low = 0, high = k->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (k->places[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < k->nr && k->places[low].start <= address ? &k->places[low] : NULL;
}

static struct known_process *process_of(struct lock_places *p, pid_t pid)
{
	struct known_process *k;

	HASH_FIND_INT(p->processes, &pid, k);
	if (k)
		return k;
	if (HASH_COUNT(p->processes) >= MAX_PROCESSES)
		forget_all(p);
	k = xcalloc(1, sizeof(*k));
	k->pid = pid;
	HASH_ADD_INT(p->processes, pid, k);
	return k;
}

/* Reads the mappings if it is time to. */
static void look_again(struct lock_places *p, struct known_process *k)
{
	uint64_t now = monotonic_ns();

	if ((k->read_ns && now - k->read_ns <= READ_AGAIN_NS) ||
	    (p->full_ns > now && p->full_ns - now > READS_FIRST_NS * READS_SHARE))
		return;
	read_mappings(k);
	p->full_ns = (p->full_ns > now ? p->full_ns : now) + (monotonic_ns() - now) * READS_SHARE;
}

void lock_places_text(struct lock_places *p, pid_t pid, uint64_t address, char *text, size_t size)
{
	struct known_process *k = process_of(p, pid);
	const struct place *found = find(k, address);

	if (!found) {
		look_again(p, k);
		found = find(k, address);
	}
	text[0] = '\0';
	if (found)
		snprintf(text, size, "%.100s+0x%" PRIx64, found->name, address - found->base);
}
