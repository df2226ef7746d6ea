/*
 * Mappings are a sorted array of disjoint ranges. A new mapping cuts or removes what it covers, as
 * the kernel does; munmap is not reported, and a stale range does no harm until something else is
 * there.
 */
#include "sampler/target/process.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/search.h"
#include "sampler/target/remapped_text.h"

#define MAX_COVER_CHECKS 20 /* of each covered text */

/* Index of the first mapping that ends above `address`. */
static size_t lower_bound(const struct process *p, uint64_t address)
{
	return SEARCH(i, p->nr_maps, p->maps[i].end <= address);
}

const struct mapping *process_find(const struct process *p, uint64_t address)
{
	size_t i = lower_bound(p, address);

	return i < p->nr_maps && p->maps[i].start <= address ? &p->maps[i] : NULL;
}

static bool same_meaning(const struct mapping *a, const struct mapping *b)
{
	return a->code == b->code && a->start - a->pgoff == b->start - b->pgoff;
}

/* Replaces maps[at..at+nr_old) by nr_new mappings. */
static void replace_maps(struct process *p, size_t at, size_t nr_old, const struct mapping *with,
			 size_t nr_new)
{
	p->maps = xgrow(p->maps, &p->capacity, p->nr_maps + nr_new, sizeof(*p->maps));
	memmove(&p->maps[at + nr_new], &p->maps[at + nr_old],
		(p->nr_maps - at - nr_old) * sizeof(*p->maps));
	memcpy(&p->maps[at], with, nr_new * sizeof(*with));
	p->nr_maps = p->nr_maps - nr_old + nr_new;
}

/* Forgets covered text in a range that is covered once more. */
static void forget_covered(struct process *p, uint64_t start, uint64_t end)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->nr_covered; i++) {
		const struct covered_text c = p->covered[i];

		if (c.text.end <= start || c.text.start >= end)
			p->covered[kept++] = c;
	}
	p->nr_covered = kept;
}

/*
 * Remembers the part of `old` that the anonymous mapping `m` hides. A process may do this for ever,
 * at one address or at many: then the oldest is forgotten, which was checked most often.
 */
static void cover(struct process *p, const struct mapping *old, const struct mapping *m)
{
	struct mapping hidden = *old;

	if (hidden.start < m->start) {
		hidden.pgoff += m->start - hidden.start;
		hidden.start = m->start;
	}
	if (hidden.end > m->end)
		hidden.end = m->end;
	forget_covered(p, hidden.start, hidden.end);
	if (p->nr_covered == PROCESS_MAX_COVERED)
		memmove(p->covered, p->covered + 1, --p->nr_covered * sizeof(*p->covered));
	p->covered =
		xgrow(p->covered, &p->covered_capacity, p->nr_covered + 1, sizeof(*p->covered));
	p->covered[p->nr_covered++] = (struct covered_text){ .text = hidden };
}

void process_new_epoch(struct process *p)
{
	static uint32_t last;

	p->epoch = ++last;
}

void process_check_covered(struct process *p)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->nr_covered; i++) {
		struct covered_text c = p->covered[i];
		const struct mapping *m = &c.text;

		if (remapped_text_matches(p->pid, m->code, m->start, m->end, m->pgoff))
			process_map(p, m);
		else if (++c.nr_checks < MAX_COVER_CHECKS)
			p->covered[kept++] = c;
	}
	p->nr_covered = kept;
}

static void extend_runtime(struct runtime_regions *runtime, const struct mapping *m)
{
	if (!runtime->high || m->start < runtime->low)
		runtime->low = m->start;
	if (m->end > runtime->high)
		runtime->high = m->end;
}

void process_map(struct process *p, const struct mapping *m)
{
	size_t first = lower_bound(p, m->start), last = first;
	struct mapping with[3];
	size_t nr = 0;

	if (m->end <= m->start)
		return;
	if (m->code->kind == MODULE_JIT && !m->stack)
		extend_runtime(&p->runtime, m);
	for (; last < p->nr_maps && p->maps[last].start < m->end; last++) {
		const struct mapping *old = &p->maps[last];

		if (same_meaning(old, m)) {
			if (old->start <= m->start && old->end >= m->end) {
				p->maps[last].absent_ns = 0;
				return;
			}
			continue;
		}
		process_new_epoch(p);
		if (old->code->kind == MODULE_ELF && m->code->kind == MODULE_JIT)
			cover(p, old, m);
	}
	if (p->nr_maps - (last - first) + 3 > PROCESS_MAX_MAPS) {
		p->has_too_many = true;
		return;
	}
	if (first < last && p->maps[first].start < m->start) {
		with[nr] = p->maps[first];
		with[nr++].end = m->start;
	}
	with[nr++] = *m;
	if (first < last && p->maps[last - 1].end > m->end) {
		with[nr] = p->maps[last - 1];
		with[nr].pgoff += m->end - with[nr].start;
		with[nr++].start = m->end;
	}
	replace_maps(p, first, last - first, with, nr);
	p->dirty = true;
}

void process_unmap_all(struct process *p)
{
	p->nr_maps = 0;
	p->has_too_many = false;
	process_new_epoch(p);
	p->dirty = true;
	p->nr_covered = 0;
	runtime_regions_clear(&p->runtime);
}

uint64_t mapping_bias(const struct mapping *m)
{
	uint64_t vaddr;

	if (m->code->kind != MODULE_ELF || !mapped_file_vaddr(m->code, m->pgoff, &vaddr))
		vaddr = m->pgoff;
	return m->start - vaddr;
}

bool process_same_maps(const struct process *a, const struct process *b)
{
	if (a->nr_maps != b->nr_maps)
		return false;
	for (size_t i = 0; i < a->nr_maps; i++)
		if (a->maps[i].start != b->maps[i].start || a->maps[i].end != b->maps[i].end ||
		    a->maps[i].pgoff != b->maps[i].pgoff || a->maps[i].code != b->maps[i].code)
			return false;
	return true;
}

void process_fini(struct process *p)
{
	free(p->maps);
	free(p->covered);
	runtime_regions_clear(&p->runtime);
}
