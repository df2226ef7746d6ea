/*
 * One function per kind of CUPTI's records. Fields that a version of CUPTI added later are read
 * only if the record is long enough (cupti_abi.h).
 */
#include "gpu/agent/cupti/activity_record.h"

#include <string.h>

#include "gpu/agent/base/arena.h"
#include "gpu/agent/base/clock.h"
#include "gpu/agent/base/fold.h"
#include "gpu/agent/base/state.h"
#include "gpu/agent/cupti/activity_keep.h"
#include "gpu/agent/cupti/cupti_abi.h"
#include "gpu/agent/cupti/cupti_clock.h"
#include "gpu/agent/cupti/graph_level.h"
#include "gpu/agent/nvtx/capture.h"

static void set_graph(union activity *r, uint32_t graph, uint64_t node)
{
	r->work.graph = graph;
	r->work.graph_node = node;
	if (!graph && !node)
		return;
	agent_count(GPU_COUNT_GRAPH_NODES, 1);
	graph_level_count(r->work.device);
}

static struct gpu_work work(uint16_t type, size_t size, uint64_t start, uint64_t end,
			    uint32_t correlation)
{
	return (struct gpu_work){
		.head = { type, (uint16_t)size, 0 },
		.start_ns = start,
		.end_ns = end,
		.correlation = correlation,
	};
}

static void place(union activity *r, uint32_t device, uint32_t context, uint32_t stream)
{
	r->work.device = device;
	r->work.context = context;
	r->work.stream = stream;
}

static void read_kernel(const struct cupti_kernel *k, size_t size)
{
	union activity r = { .kernel = {
				     .work = work(GPU_RECORD_KERNEL, sizeof(r.kernel), k->start,
						  k->end, k->correlation),
				     .queued_ns = k->queued,
				     .submitted_ns = k->submitted,
				     .name = activity_name_id(k->name),
				     .registers = k->registers,
				     .shared_static = (uint32_t)k->static_shared,
				     .shared_dynamic = (uint32_t)k->dynamic_shared,
				     .local_bytes = k->local_per_thread,
			     } };

	cupti_clock_convert(&r.kernel.queued_ns, &r.kernel.submitted_ns);
	agent_count(GPU_COUNT_KERNELS, 1);
	for (int i = 0; i < 3; i++) {
		r.kernel.grid[i] = (uint32_t)k->grid[i];
		r.kernel.block[i] = (uint32_t)k->block[i];
	}
	place(&r, k->device, k->context, k->stream);
	if (size >= CUPTI_KERNEL_NODE_SIZE)
		set_graph(&r, size >= CUPTI_KERNEL_GRAPH_SIZE ? k->graph : 0, k->graph_node);
	activity_take(&r);
}

static void read_memcpy(const struct cupti_memcpy *m, size_t size)
{
	union activity r = { .memcpy = {
				     .work = work(GPU_RECORD_MEMCPY, sizeof(r.memcpy), m->start,
						  m->end, m->correlation),
				     .bytes = m->bytes,
				     .copy_kind = m->copy_kind,
				     .source_kind = m->source_kind,
				     .destination_kind = m->destination_kind,
				     .flags = m->flags & 1,
				     .source_device = m->device,
				     .destination_device = m->device,
			     } };

	agent_count(GPU_COUNT_MEMCPYS, 1);
	place(&r, m->device, m->context, m->stream);
	if (size >= CUPTI_MEMCPY_GRAPH_SIZE)
		set_graph(&r, m->graph, m->graph_node);
	activity_take(&r);
}

static void read_memcpy_peer(const struct cupti_memcpy_peer *m, size_t size)
{
	union activity r = { .memcpy = {
				     .work = work(GPU_RECORD_MEMCPY, sizeof(r.memcpy), m->start,
						  m->end, m->correlation),
				     .bytes = m->bytes,
				     .copy_kind = m->copy_kind,
				     .source_kind = m->source_kind,
				     .destination_kind = m->destination_kind,
				     .flags = m->flags & 1,
				     .source_device = m->source_device,
				     .destination_device = m->destination_device,
			     } };

	agent_count(GPU_COUNT_MEMCPYS, 1);
	place(&r, m->device, m->context, m->stream);
	if (size >= CUPTI_MEMCPY_PEER_GRAPH_SIZE)
		set_graph(&r, m->graph, m->graph_node);
	activity_take(&r);
}

static void read_memset(const struct cupti_memset *m, size_t size)
{
	union activity r = { .memset = {
				     .work = work(GPU_RECORD_MEMSET, sizeof(r.memset), m->start,
						  m->end, m->correlation),
				     .bytes = m->bytes,
				     .value = m->value,
				     .memory_kind = m->memory_kind,
				     .flags = m->flags & 1,
			     } };

	agent_count(GPU_COUNT_MEMSETS, 1);
	place(&r, m->device, m->context, m->stream);
	if (size >= CUPTI_MEMSET_GRAPH_SIZE)
		set_graph(&r, m->graph, m->graph_node);
	activity_take(&r);
}

static void read_sync(const struct cupti_synchronization *s)
{
	union activity r = { .sync = {
				     .work = work(GPU_RECORD_SYNC, sizeof(r.sync), s->start, s->end,
						  s->correlation),
				     .sync_type = s->type,
				     .event = s->event,
			     } };

	agent_count(GPU_COUNT_SYNCS, 1);
	place(&r, 0, s->context, s->stream);
	activity_take(&r);
}

static void read_graph(const struct cupti_graph_trace *g)
{
	union activity r = { .graph = {
				     .work = work(GPU_RECORD_GRAPH, sizeof(r.graph), g->start,
						  g->end, g->correlation),
			     } };

	agent_count(GPU_COUNT_GRAPHS, 1);
	place(&r, g->device, g->context, g->stream);
	r.work.graph = g->graph;
	activity_take(&r);
}

/* ---- memory: the sums per device are exact, whether or not the record fits into the ring */
#define MAX_POOLS 256 /* further pools are not in the sums */

struct pool {
	uint64_t address, bytes;
};

static struct pool pools[MAX_POOLS];

static void note_peak(struct gpu_device *d)
{
	if (d->allocated_bytes > d->peak_bytes)
		d->peak_bytes = d->allocated_bytes;
}

/* A pool counts with what it has reserved of the device, in use or not. */
static void set_pool(uint32_t device, uint64_t address, uint64_t bytes)
{
	struct gpu_device *d = agent_area(&agent.region->devices);
	struct pool *p = pools;

	while (p < pools + MAX_POOLS && p->address && p->address != address)
		p++;
	if (p == pools + MAX_POOLS || device >= GPU_MAX_DEVICES)
		return;
	d += device;
	p->address = address;
	d->allocated_bytes -= p->bytes < d->allocated_bytes ? p->bytes : d->allocated_bytes;
	d->allocated_bytes += bytes;
	p->bytes = bytes;
	note_peak(d);
}

static void add_allocation(const struct cupti_memory2 *m)
{
	struct gpu_device *d = agent_area(&agent.region->devices);

	/* CUpti_ActivityMemoryKind: device 3, managed 5, device static 6 */
	if (m->device >= GPU_MAX_DEVICES ||
	    (m->memory_kind != 3 && m->memory_kind != 5 && m->memory_kind != 6))
		return;
	if (m->pool_type) {
		if (m->pool_type == CUPTI_POOL_LOCAL)
			set_pool(m->device, m->pool, m->pool_size);
		return;
	}
	d += m->device;
	if (m->op == GPU_MEMORY_ALLOC)
		d->allocated_bytes += m->bytes;
	else if (d->allocated_bytes >= m->bytes)
		d->allocated_bytes -= m->bytes;
	else
		d->allocated_bytes = 0; /* it was allocated before we came */
	note_peak(d);
}

static void read_memory(const struct cupti_memory2 *m)
{
	union activity r = { .memory = {
				     .work = work(GPU_RECORD_MEMORY, sizeof(r.memory), m->timestamp,
						  m->timestamp, m->correlation),
				     .address = m->address,
				     .bytes = m->bytes,
				     .pool = m->pool_type ? m->pool : 0,
				     .op = m->op,
				     .memory_kind = m->memory_kind,
				     .pool_bytes =
					     m->pool_type == CUPTI_POOL_LOCAL ? m->pool_size : 0,
			     } };

	agent_count(GPU_COUNT_MEMORY, 1);
	add_allocation(m);
	place(&r, m->device, m->context, m->stream);
	activity_take(&r);
}

static void read_pool(const struct cupti_memory_pool *p)
{
	union activity r = { .pool = {
				     .work = work(GPU_RECORD_POOL, sizeof(r.pool), p->timestamp,
						  p->timestamp, p->correlation),
				     .address = p->address,
				     .size_bytes = p->size,
				     .op = p->op,
			     } };

	agent_count(GPU_COUNT_POOL, 1);
	if (p->pool_type != CUPTI_POOL_LOCAL)
		r.pool.size_bytes = 0;
	else
		set_pool(p->device, p->address, p->op == GPU_POOL_DESTROYED ? 0 : p->size);
	place(&r, p->device, 0, 0);
	/* the calls that create pools have no callback: nothing to wait for */
	if (capture_is_open() && activity_is_timed(&r) &&
	    activity_find_call(&r) != ACTIVITY_CALL_LATER)
		activity_keep(&r);
}

static void read_overhead(const struct cupti_overhead *o, size_t size)
{
	struct gpu_rec_overhead r = {
		.head = { GPU_RECORD_OVERHEAD, sizeof(r), 0 },
		.start_ns = o->start,
		.end_ns = o->end,
		.overhead_kind = o->overhead_kind,
		.correlation = size >= CUPTI_OVERHEAD_CORRELATION_SIZE ? o->correlation : 0,
	};
	const struct gpu_fold key = {
		.kind = GPU_FOLD_OVERHEAD,
		/* CUPTI counts 1, 1 << 16, 2 << 16, ...: stored as 1, 2, 3, ... */
		.subkind = (uint8_t)(o->overhead_kind >> 16 ? 1 + (o->overhead_kind >> 16)
							    : o->overhead_kind),
	};

	agent_count(GPU_COUNT_OVERHEADS, 1);
	if (!r.start_ns || r.end_ns < r.start_ns) {
		agent_count(GPU_COUNT_UNTIMED, 1);
		return;
	}
	if (!capture_is_open())
		return;
	cupti_clock_convert(&r.start_ns, &r.end_ns);
	fold_add(&key, r.end_ns - r.start_ns, 0);
	activity_emit(&r.head);
}

static void read_device(const struct cupti_device *c)
{
	struct gpu_device *d = agent_area(&agent.region->devices);

	if (c->id >= GPU_MAX_DEVICES)
		return;
	d += c->id;
	d->name = arena_cstring(c->name);
	memcpy(d->uuid, c->uuid, sizeof(d->uuid));
	d->memory_bytes = c->memory_bytes;
	d->memory_bytes_per_s = c->bandwidth_kb_s * 1000;
	d->cc_major = c->cc_major;
	d->cc_minor = c->cc_minor;
	d->nr_sms = c->nr_sms;
	d->warp_threads = c->warp_threads;
	d->max_warps_per_sm = c->max_warps_per_sm;
	d->max_blocks_per_sm = c->max_blocks_per_sm;
	d->max_registers_per_sm = c->max_registers_per_sm;
	d->max_shared_per_sm = c->max_shared_per_sm;
	d->core_clock_khz = c->core_clock_khz;
	__atomic_store_n(&d->known, 1, __ATOMIC_RELEASE);
}

void activity_record_drops(uint64_t nr, uint32_t stream)
{
	const struct gpu_rec_drops r = {
		.head = { GPU_RECORD_DROPS, sizeof(r), 0 },
		.time_ns = clock_now_ns(),
		.nr = nr,
		.stream = stream,
	};

	agent_count(GPU_COUNT_CUPTI_DROPPED, nr);
	activity_emit(&r.head);
}

void activity_record(const void *record, size_t size)
{
	static const struct {
		uint16_t kind, min_size;
	} sizes[] = {
		{ CUPTI_KIND_KERNEL, CUPTI_KERNEL_SIZE },
		{ CUPTI_KIND_CONCURRENT_KERNEL, CUPTI_KERNEL_SIZE },
		{ CUPTI_KIND_MEMCPY, CUPTI_MEMCPY_SIZE },
		{ CUPTI_KIND_MEMCPY2, CUPTI_MEMCPY_PEER_SIZE },
		{ CUPTI_KIND_MEMSET, CUPTI_MEMSET_SIZE },
		{ CUPTI_KIND_SYNCHRONIZATION, CUPTI_SYNCHRONIZATION_SIZE },
		{ CUPTI_KIND_GRAPH_TRACE, CUPTI_GRAPH_TRACE_SIZE },
		{ CUPTI_KIND_MEMORY2, CUPTI_MEMORY2_SIZE },
		{ CUPTI_KIND_MEMORY_POOL, CUPTI_MEMORY_POOL_SIZE },
		{ CUPTI_KIND_OVERHEAD, CUPTI_OVERHEAD_SIZE },
		{ CUPTI_KIND_DEVICE, CUPTI_DEVICE_SIZE },
	};
	uint32_t kind = size >= 4 ? ((const struct cupti_record *)record)->kind : 0;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if (sizes[i].kind == kind && size < sizes[i].min_size) {
			agent_count(GPU_COUNT_BAD_RECORD, 1);
			return;
		}
	switch (kind) {
	case CUPTI_KIND_KERNEL:
	case CUPTI_KIND_CONCURRENT_KERNEL: read_kernel(record, size); break;
	case CUPTI_KIND_MEMCPY: read_memcpy(record, size); break;
	case CUPTI_KIND_MEMCPY2: read_memcpy_peer(record, size); break;
	case CUPTI_KIND_MEMSET: read_memset(record, size); break;
	case CUPTI_KIND_SYNCHRONIZATION: read_sync(record); break;
	case CUPTI_KIND_GRAPH_TRACE: read_graph(record); break;
	case CUPTI_KIND_MEMORY2: read_memory(record); break;
	case CUPTI_KIND_MEMORY_POOL: read_pool(record); break;
	case CUPTI_KIND_OVERHEAD: read_overhead(record, size); break;
	case CUPTI_KIND_DEVICE: read_device(record); break;
	default: agent_count(GPU_COUNT_OTHER, 1);
	}
}
