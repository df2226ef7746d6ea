/*
 * A table by the address of the descriptor. Only the thread that builds a descriptor writes its
 * entry, as cuDNN itself demands; a finished one is read by any thread. What is handed on from one
 * descriptor to the next is a number of operations, so the earlier ones may be destroyed.
 */
#include "gpu/agent/flops/cudnn_plan.h"

#include <errno.h>
#include <stddef.h>

#include "gpu/agent/base/arena.h"
#include "gpu/agent/base/state.h"
#include "gpu/agent/flops/math_abi.h"
#include "gpu/agent/flops/shape.h"

#define ENTRIES (1u << 15) /* 2 MiB of address space; memory as far as it is used */
#define MAX_PROBES 64u
#define FREED 1u /* the address of no descriptor */
#define MAX_OPERATIONS 1024
#define MAX_DIMENSIONS 16

struct entry {
	uint64_t address; /* atomic; 0 = free, FREED: was in use */
	/*
	 * Of a tensor: how many elements it has, how many at one index of its first dimension, and
	 * the size of its last.
	 */
	uint64_t all, inner, last;
	/* of an operation: its factors, as they become known; of all others: of the whole */
	uint64_t flops;
	uint64_t out, terms;
	uint8_t data; /* of a tensor: enum cudnn_data */
	uint8_t type; /* enum gpu_flops_type */
	bool has_out, has_terms, saturated;
	bool known; /* flops */
	uint8_t pad[2];
};
_Static_assert(sizeof(struct entry) == 64, "2^15 entries are 2 MiB");

static struct entry *entries;

int cudnn_plan_init(void)
{
	entries = agent_map(ENTRIES * sizeof(*entries));
	return entries ? 0 : -ENOMEM;
}

static struct entry *find(const void *descriptor)
{
	uint64_t address = (uintptr_t)descriptor;

	for (uint64_t i = 0, at = arena_mix(address); address > FREED && i < MAX_PROBES; i++) {
		struct entry *e = &entries[(at + i) % ENTRIES];
		uint64_t is = __atomic_load_n(&e->address, __ATOMIC_ACQUIRE);

		if (is == address)
			return e;
		if (!is)
			break;
	}
	return NULL;
}

void cudnn_plan_gone(const void *descriptor)
{
	struct entry *e = find(descriptor);

	if (e)
		__atomic_store_n(&e->address, FREED, __ATOMIC_RELEASE);
}

/* Where there is no room, what is made from it is of an unknown shape. */
void cudnn_plan_made(const void *descriptor)
{
	uint64_t address = (uintptr_t)descriptor;

	cudnn_plan_gone(descriptor);
	for (uint64_t i = 0, at = arena_mix(address); address > FREED && i < MAX_PROBES; i++) {
		struct entry *e = &entries[(at + i) % ENTRIES];
		uint64_t is = __atomic_load_n(&e->address, __ATOMIC_ACQUIRE);

		if (is > FREED || !__atomic_compare_exchange_n(&e->address, &is, address, false,
							       __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		*e = (struct entry){ .address = address };
		return;
	}
}

/* Saturates; the result says so. */
static uint64_t times(uint64_t a, uint64_t b, bool *saturated)
{
	uint64_t product;

	if (!__builtin_mul_overflow(a, b, &product))
		return product;
	*saturated = true;
	return UINT64_MAX;
}

static void set_dimensions(struct entry *e, int64_t nr, const int64_t *sizes)
{
	e->known = nr > 1 && nr <= MAX_DIMENSIONS;
	e->all = e->inner = 1;
	e->saturated = false;
	for (int64_t i = 0; e->known && i < nr; i++) {
		e->known = sizes[i] > 0;
		e->all = times(e->all, (uint64_t)sizes[i], &e->saturated);
		if (i)
			e->inner = times(e->inner, (uint64_t)sizes[i], &e->saturated);
		e->last = (uint64_t)sizes[i];
	}
}

static void finish_operation(struct entry *e)
{
	e->known = e->has_out && e->has_terms;
	if (e->known)
		e->flops = times(times(e->out, e->terms, &e->saturated), SHAPE_REAL, &e->saturated);
}

/* The result of an operation: how many elements it has. */
static void set_out(struct entry *e, const struct entry *tensor)
{
	e->has_out = tensor && tensor->known;
	if (!e->has_out)
		return;
	e->out = tensor->all;
	e->saturated |= tensor->saturated;
	e->type = shape_type_of_tensor(tensor->data, GPU_FLOPS_FP32_OR_TF32);
	finish_operation(e);
}

/* How many products are added up for one element of it. */
static void set_terms(struct entry *e, const struct entry *tensor, bool is_filter)
{
	e->has_terms = tensor && tensor->known;
	if (!e->has_terms)
		return;
	e->terms = is_filter ? tensor->inner : tensor->last;
	e->saturated |= is_filter && tensor->saturated;
	finish_operation(e);
}

/*
 * Sums the operations of a graph. Those that are no products, such as an activation, count nothing;
 * a graph without any product is of an unknown shape.
 */
static void set_operations(struct entry *e, int64_t nr, const void *const *operations)
{
	e->known = false;
	e->flops = 0;
	for (int64_t i = 0; i < nr && i < MAX_OPERATIONS; i++) {
		const struct entry *o = find(operations[i]);

		if (!o || (!o->known && (o->has_out || o->has_terms))) {
			e->known = false;
			return;
		}
		if (!o->known)
			continue;
		e->saturated |=
			o->saturated || __builtin_add_overflow(e->flops, o->flops, &e->flops);
		if (e->saturated)
			e->flops = UINT64_MAX;
		e->type = e->known && e->type != o->type ? GPU_FLOPS_UNKNOWN : o->type;
		e->known = true;
	}
	if (nr > MAX_OPERATIONS)
		e->known = false;
}

static void hand_on(struct entry *to, const struct entry *from)
{
	to->known = from && from->known;
	if (!to->known)
		return;
	to->flops = from->flops;
	to->type = from->type;
	to->saturated = from->saturated;
}

/* Attributes that are one descriptor. */
static void set_descriptor(struct entry *e, int attribute, const struct entry *to)
{
	switch (attribute) {
	case CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y:
	case CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY:
	case CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY:
	case CUDNN_ATTR_OPERATION_MATMUL_CDESC: set_out(e, to); break;
	case CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W:
	case CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W:
	case CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW: set_terms(e, to, true); break;
	case CUDNN_ATTR_OPERATION_MATMUL_ADESC: set_terms(e, to, false); break;
	case CUDNN_ATTR_ENGINE_OPERATION_GRAPH:
	case CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH:
	case CUDNN_ATTR_ENGINECFG_ENGINE:
	case CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG: hand_on(e, to); break;
	}
}

void cudnn_plan_set(const void *descriptor, int attribute, int type, int64_t nr,
		    const void *elements)
{
	struct entry *e = nr > 0 && elements ? find(descriptor) : NULL;

	if (!e)
		return;
	if (attribute == CUDNN_ATTR_TENSOR_DIMENSIONS && type == CUDNN_TYPE_INT64)
		set_dimensions(e, nr, elements);
	else if (attribute == CUDNN_ATTR_TENSOR_DATA_TYPE && type == CUDNN_TYPE_DATA_TYPE)
		e->data = (uint8_t) * (const int *)elements;
	else if (attribute == CUDNN_ATTR_OPERATIONGRAPH_OPS &&
		 type == CUDNN_TYPE_BACKEND_DESCRIPTOR)
		set_operations(e, nr, elements);
	else if (nr == 1 && type == CUDNN_TYPE_BACKEND_DESCRIPTOR)
		set_descriptor(e, attribute, find(*(const void *const *)elements));
}

/* Configurations that a heuristic proposes are for the graph that it was asked about. */
void cudnn_plan_got(const void *descriptor, int attribute, int type, int64_t nr,
		    const void *elements)
{
	const void *const *list = elements;
	const struct entry *from = find(descriptor);

	if (attribute != CUDNN_ATTR_ENGINEHEUR_RESULTS || type != CUDNN_TYPE_BACKEND_DESCRIPTOR ||
	    !from || !list)
		return;
	for (int64_t i = 0; i < nr && i < MAX_OPERATIONS; i++) {
		struct entry *to = find(list[i]);

		if (to)
			hand_on(to, from);
	}
}

struct shape cudnn_plan_shape(const void *plan)
{
	const struct entry *e = find(plan);
	struct shape shape = shape_unknown(GPU_FLOPS_PLAN);

	if (!e || !e->known)
		return shape;
	shape = shape_new(GPU_FLOPS_PLAN, e->type);
	shape.flops = e->flops;
	shape.saturated = e->saturated;
	return shape;
}
