/*
 * Changes wait until they are REORDER_NS old, are sorted by time and added up. A point that is too
 * close to the last one is held back, with the highest point seen since.
 */
#include "gpu/memory_points.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/order.h"
#include "core/profile/facts.h"
#include "core/profile/source.h"
#include "gpu/names.h"

#define REORDER_NS 2000000000ull /* as in gpu/timeline.c */
#define MAX_WAITING (1u << 17)
#define MAX_POOLS 1024
#define NR_EXACT 4096u /* points of a device; later ones are 1 / NR_EXACT of the time apart */

_Static_assert(MEMORY_DEVICES == GPU_MAX_DEVICES, "devices of the region");

static int compare_changes(const void *a, const void *b)
{
	const struct memory_change *x = a, *y = b;

	/* frees first: their memory can be allocated again */
	return ORDER(x->at.time_ns, y->at.time_ns) ?: y->is_free - x->is_free
	       ?: ORDER(x->order, y->order);
}

static void write_point(struct memory_points *m, uint32_t device, const struct memory_point *p)
{
	struct memory_device *d = &m->devices[device];
	const struct fact_gpu_memory row = {
		.pid = (uint64_t)m->names->opts->pid,
		.device = device,
		.time_ns = p->time_ns,
		.used_bytes = p->bytes,
	};

	if (!d->nr_written++)
		d->first_ns = p->time_ns;
	d->written_ns = p->time_ns;
	m->names->sink->fact(m->names->sink, FACT_GPU_MEMORY, &row);
}

static void write_held(struct memory_points *m, uint32_t device)
{
	struct memory_device *d = &m->devices[device];

	if (!d->last.time_ns)
		return;
	if (d->highest.time_ns != d->last.time_ns)
		write_point(m, device, &d->highest);
	write_point(m, device, &d->last);
	d->highest = d->last = (struct memory_point){ 0 };
}

/* NULL: too many pools. */
static struct memory_pool *pool_of(struct memory_points *m, const struct memory_change *c)
{
	struct memory_pool *p;

	for (size_t i = 0; i < m->nr_pools; i++)
		if (m->pools[i].address == c->pool && m->pools[i].device == c->device)
			return &m->pools[i];
	if (m->nr_pools == MAX_POOLS)
		return NULL;
	m->pools = xgrow(m->pools, &m->pools_capacity, ++m->nr_pools, sizeof(*m->pools));
	p = &m->pools[m->nr_pools - 1];
	*p = (struct memory_pool){ .address = c->pool, .device = c->device };
	return p;
}

/* Applies a change to its device; false if the total stays the same. */
static bool add_up(struct memory_points *m, const struct memory_change *c)
{
	struct memory_device *d = &m->devices[c->device];
	struct memory_pool *pool;

	if (c->pool) {
		pool = pool_of(m, c);
		if (!pool || pool->bytes == c->at.bytes)
			return false;
		d->pool_bytes += c->at.bytes - pool->bytes;
		pool->bytes = c->at.bytes;
	} else if (!c->is_free) {
		d->used_bytes += c->at.bytes;
	} else { /* it may have been allocated before we came */
		d->used_bytes -= c->at.bytes < d->used_bytes ? c->at.bytes : d->used_bytes;
	}
	return true;
}

static void take_change(struct memory_points *m, const struct memory_change *c)
{
	struct memory_device *d = &m->devices[c->device];
	struct memory_point now = { .time_ns = c->at.time_ns };
	uint64_t apart_ns = d->nr_written < NR_EXACT ? 0 : (c->at.time_ns - d->first_ns) / NR_EXACT;

	if (!add_up(m, c))
		return;
	now.bytes = d->used_bytes + d->pool_bytes;
	if (now.time_ns < d->written_ns) /* late by seconds: counts from the last point on */
		now.time_ns = d->written_ns;
	if (d->nr_written && now.time_ns - d->written_ns < apart_ns) {
		d->last = now;
		if (!d->highest.time_ns || now.bytes > d->highest.bytes)
			d->highest = now;
		return;
	}
	write_held(m, c->device);
	write_point(m, c->device, &now);
}

static void take(struct memory_points *m, const struct memory_change *change)
{
	m->waiting = xgrow(m->waiting, &m->capacity, m->nr + 1, sizeof(*m->waiting));
	m->waiting[m->nr] = *change;
	m->waiting[m->nr++].order = m->order++;
	if (m->nr >= MAX_WAITING)
		memory_points_flush(m, change->at.time_ns + REORDER_NS);
}

void memory_points_take(struct memory_points *m, const struct gpu_rec_memory *record)
{
	/* CUpti_ActivityMemoryKind: device 3, managed 5, device static 6; others are host memory */
	if (record->work.device >= MEMORY_DEVICES || !record->work.start_ns ||
	    (record->memory_kind != 3 && record->memory_kind != 5 && record->memory_kind != 6))
		return;
	take(m, &(struct memory_change){
			.at = { record->work.start_ns,
				record->pool ? record->pool_bytes : record->bytes },
			.pool = record->pool,
			.device = record->work.device,
			.is_free = !record->pool && record->op != GPU_MEMORY_ALLOC,
		});
}

void memory_points_take_pool(struct memory_points *m, const struct gpu_rec_pool *record)
{
	if (record->work.device >= MEMORY_DEVICES || !record->work.start_ns || !record->address)
		return;
	take(m, &(struct memory_change){
			.at = { record->work.start_ns,
				record->op == GPU_POOL_DESTROYED ? 0 : record->size_bytes },
			.pool = record->address,
			.device = record->work.device,
		});
}

void memory_points_flush(struct memory_points *m, uint64_t now_ns)
{
	size_t nr = 0;

	if (m->nr)
		qsort(m->waiting, m->nr, sizeof(*m->waiting), compare_changes);
	while (nr < m->nr &&
	       (now_ns == UINT64_MAX || m->nr - nr >= MAX_WAITING ||
		(now_ns >= REORDER_NS && m->waiting[nr].at.time_ns <= now_ns - REORDER_NS)))
		take_change(m, &m->waiting[nr++]);
	if (nr)
		memmove(m->waiting, m->waiting + nr, (m->nr - nr) * sizeof(*m->waiting));
	m->nr -= nr;
	for (uint32_t i = 0; now_ns == UINT64_MAX && i < MEMORY_DEVICES; i++)
		write_held(m, i);
}

void memory_points_fini(struct memory_points *m)
{
	free(m->waiting);
	free(m->pools);
}
