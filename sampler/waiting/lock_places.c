/*
 * The mappings of a process are read when a lock is met that lies in none of those known, at most
 * once a second. All these reads have a share of the time: a user can have a hundred processes of
 * 65536 mappings, and locks in all of them. Memory without a name that follows a file's mapping is
 * the rest of its data. The name of a variable costs a child process, so each lock is looked up
 * once, and only so many of them.
 */
#include "sampler/waiting/lock_places.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/hash_table.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/path.h"
#include "core/untrusted/remote_read.h"
#include "core/untrusted/time_budget.h"
#include "sampler/target/open_mapped.h"
#include "sampler/target/proc_maps.h"
#include "sampler/waiting/data_symbol.h"

#define MAX_PROCESSES 64
#define MAX_MAPPINGS 65536
#define MAX_LOCKS 4096	/* of a process, that are kept in mind */
#define MAX_SYMBOLS 512 /* that are looked up for all processes */
#define READ_AGAIN_NS (1000ull * 1000 * 1000)
#define READS_FIRST_NS (500ull * 1000 * 1000) /* that reads may take at once, */
#define READS_SHARE 20			      /* and of the time after that */

struct place {
	uint64_t start, end;
	uint64_t base; /* the address of the file's offset 0, or of the memory's start */
	uint64_t file; /* where the mapping of its file starts; 0: it is of no file */
	char *name;
};

struct known_lock {
	uint64_t address;
	struct lock_place place;
	UT_hash_handle hh;
};

struct known_process {
	pid_t pid;
	uint64_t read_ns;
	struct place *places; /* by address */
	size_t nr, capacity;
	struct known_lock *locks;
	UT_hash_handle hh;
};

struct lock_places {
	const struct sandbox *sandbox;
	unsigned int nr_symbols;
	struct known_process *processes;
	uint64_t began_ns; /* the read that is being made */
	struct lock_place unknown;
	uint64_t full_at_ns; /* of the time for reads: time_budget.h */
};

struct lock_places *lock_places_new(const struct sandbox *sandbox)
{
	struct lock_places *p = xcalloc(1, sizeof(*p));

	p->sandbox = sandbox;
	return p;
}

static void forget_locks(struct known_process *k)
{
	struct known_lock *l, *next;

	HASH_ITER (hh, k->locks, l, next) {
		HASH_DEL(k->locks, l);
		free(l);
	}
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
		forget_locks(k);
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
		new.file = follows ? last->file : 0;
	} else if (is_file) {
		new.base = follows && !strcmp(last->name, name) ? last->base : m->start - m->pgoff;
		new.file = m->start;
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

static bool may_read(const struct lock_places *p)
{
	return !time_budget_is_used_up(p->full_at_ns, monotonic_ns(), READS_FIRST_NS * READS_SHARE);
}

static void begin_read(struct lock_places *p)
{
	p->began_ns = monotonic_ns();
}

static void end_read(struct lock_places *p)
{
	time_budget_use(&p->full_at_ns, p->began_ns, (monotonic_ns() - p->began_ns) * READS_SHARE);
}

/* Reads the mappings if it is time to. */
static void look_again(struct lock_places *p, struct known_process *k)
{
	if ((k->read_ns && monotonic_ns() - k->read_ns <= READ_AGAIN_NS) || !may_read(p))
		return;
	begin_read(p);
	read_mappings(k);
	end_read(p);
}

/* Opens the file that is mapped from `start` on, or returns -errno. Reads the mappings again. */
static int open_file(pid_t pid, uint64_t start)
{
	FILE *f = remote_open(pid, "maps");
	char *line = NULL;
	size_t size = 0;
	int fd = -ENOENT;

	for (int i = 0; f && fd == -ENOENT && i < MAX_MAPPINGS && getline(&line, &size, f) > 0;
	     i++) {
		struct file_mapping m = { .pid = pid };
		bool executable;

		if (proc_maps_parse(line, &m, &executable) && m.start == start)
			fd = m.path[0] == '/' ? open_mapped(&m) : -ESTALE;
	}
	free(line);
	if (f)
		fclose(f);
	return fd;
}

static void find_symbol(struct lock_places *p, pid_t pid, const struct place *in, uint64_t offset,
			struct lock_place *ret)
{
	char name[DATA_SYMBOL_SIZE];
	int fd;

	if (!in->file || p->nr_symbols >= MAX_SYMBOLS || !may_read(p))
		return;
	p->nr_symbols++;
	begin_read(p);
	fd = open_file(pid, in->file);
	if (fd >= 0 && !data_symbol_find(p->sandbox, fd, offset, name))
		snprintf(ret->symbol, sizeof(ret->symbol), "%.90s (%.30s)", name, in->name);
	if (fd >= 0)
		close(fd);
	end_read(p);
}

const struct lock_place *lock_places_find(struct lock_places *p, pid_t pid, uint64_t address)
{
	struct known_process *k = process_of(p, pid);
	const struct place *found;
	struct known_lock *l;

	HASH_FIND(hh, k->locks, &address, sizeof(address), l);
	if (l)
		return &l->place;
	found = find(k, address);
	if (!found) {
		look_again(p, k);
		found = find(k, address);
	}
	if (!found) /* the mapping may be too new */
		return &p->unknown;
	if (HASH_COUNT(k->locks) >= MAX_LOCKS)
		forget_locks(k);
	l = xcalloc(1, sizeof(*l));
	l->address = address;
	snprintf(l->place.where, sizeof(l->place.where), "%.80s+0x%" PRIx64, found->name,
		 address - found->base);
	find_symbol(p, pid, found, address - found->base, &l->place);
	HASH_ADD(hh, k->locks, address, sizeof(l->address), l);
	return &l->place;
}

void lock_place_text(const struct lock_place *place, char *text, size_t size)
{
	size_t length = strcspn(place->symbol, " ");

	if (place->symbol[0])
		snprintf(text, size, "%.*s (%s)", (int)length, place->symbol, place->where);
	else
		snprintf(text, size, "%s", place->where);
}
