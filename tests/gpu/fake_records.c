/*
 * Record sizes and offsets from cupti_activity.h and cupti_activity_deprecated.h of CUDA 11.0, 12.6
 * and 13.0.
 */
#include "tests/gpu/fake_cupti.h"

#include <string.h>

static const struct {
	uint32_t kind;
	uint16_t sizes[3]; /* CUDA 11, 12, 13 */
} records[] = {
	{ 1, { 72, 88, 96 } },	   /* MEMCPY: Memcpy3, 5, 6 */
	{ 2, { 72, 88, 88 } },	   /* MEMSET: Memset2, 4, 4 */
	{ 3, { 160, 208, 216 } },  /* KERNEL: Kernel5, 9, 10 */
	{ 8, { 144, 176, 184 } },  /* DEVICE: Device2, 4, 5 */
	{ 10, { 160, 208, 216 } }, /* CONCURRENT_KERNEL */
	{ 17, { 40, 56, 56 } },	   /* OVERHEAD */
	{ 22, { 80, 96, 96 } },	   /* MEMCPY2: MemcpyPtoP2, 4, 4 */
	{ 38, { 40, 40, 56 } },	   /* SYNCHRONIZATION */
	{ 49, { 112, 120, 128 } }, /* MEMORY2 */
	{ 50, { 64, 72, 80 } },	   /* MEMORY_POOL */
	{ 51, { 0, 48, 56 } },	   /* GRAPH_TRACE */
};

static const struct {
	uint32_t cbid;
	const char *name;
} names[] = {
	{ 17, "cuCtxSynchronize" },	 { 126, "cuStreamSynchronize" },
	{ 221, "cuMemsetD8Async" },	 { 243, "cuMemAlloc_v2" },
	{ 245, "cuMemFree_v2" },	 { 276, "cuMemcpyHtoD_v2" },
	{ 281, "cuMemcpyDtoHAsync_v2" }, { 307, "cuLaunchKernel" },
	{ 308, "cuProfilerStart" },	 { 309, "cuProfilerStop" },
	{ 319, "cuMemcpyPeerAsync" },	 { 514, "cuGraphLaunch" },
	{ 497, "cuStreamEndCapture" },	 { 539, "cuStreamBeginCapture_v2" },
	{ 598, "cuMemAllocAsync" },	 { 600, "cuMemFreeAsync" },
};

static const struct {
	uint32_t cbid;
	const char *name;
} runtime_names[] = {
	{ 20, "cudaMalloc_v3020" },	      { 22, "cudaFree_v3020" },
	{ 31, "cudaMemcpy_v3020" },	      { 41, "cudaMemcpyAsync_v3020" },
	{ 51, "cudaMemsetAsync_v3020" },      { 131, "cudaStreamSynchronize_v3020" },
	{ 162, "cudaMemcpyPeerAsync_v4000" }, { 165, "cudaDeviceSynchronize_v3020" },
	{ 171, "cudaProfilerStart_v4000" },   { 172, "cudaProfilerStop_v4000" },
	{ 211, "cudaLaunchKernel_v7000" },    { 311, "cudaGraphLaunch_v10000" },
};

size_t fake_record_size(uint32_t kind)
{
	for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++)
		if (records[i].kind == kind)
			return records[i].sizes[FAKE_VERSION - 11];
	return 0;
}

const char *fake_driver_name(uint32_t cbid)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].cbid == cbid)
			return names[i].name;
	return "cuOther";
}

const char *fake_runtime_name(uint32_t cbid)
{
	for (size_t i = 0; i < sizeof(runtime_names) / sizeof(runtime_names[0]); i++)
		if (runtime_names[i].cbid == cbid)
			return runtime_names[i].name;
	return "cudaOther";
}

static void put4(uint8_t *to, size_t at, uint32_t value)
{
	memcpy(to + at, &value, 4);
}

static void put8(uint8_t *to, size_t at, uint64_t value)
{
	memcpy(to + at, &value, 8);
}

/* device, context and stream, in a row */
static void put_place(uint8_t *to, size_t at, const struct fake_op *op)
{
	put4(to, at, op->device);
	put4(to, at + 4, op->context);
	put4(to, at + 8, op->stream);
}

static void write_kernel(uint8_t *to, size_t size, const struct fake_op *op)
{
	to[6] = (uint8_t)op->registers;
	put8(to, 16, op->start);
	put8(to, 24, op->end);
	put8(to, 32, op->end);
	put_place(to, 40, op);
	for (size_t i = 0; i < 3; i++) {
		put4(to, 52 + 4 * i, op->grid[i]);
		put4(to, 64 + 4 * i, op->block[i]);
	}
	put4(to, 80, op->shared);
	put4(to, 92, op->correlation);
	put8(to, 104, (uintptr_t)op->name);
	put8(to, 144, op->graph_node);
	if (size > 160)
		put4(to, 156, op->graph);
}

static void write_copy(uint8_t *to, size_t size, const struct fake_op *op)
{
	to[4] = (uint8_t)op->copy_kind;
	to[5] = op->copy_kind == 1 ? 1 : 3;
	to[6] = op->copy_kind == 2 ? 1 : 3;
	put8(to, 8, op->bytes);
	put8(to, 16, op->start);
	put8(to, 24, op->end);
	put_place(to, 32, op);
	if (op->kind == 1) {
		put4(to, 44, op->correlation);
		put8(to, 64, op->graph_node);
		if (size > 72)
			put4(to, 72, op->graph);
		return;
	}
	put4(to, 44, op->source_device);
	put4(to, 52, op->destination_device);
	put4(to, 60, op->correlation);
}

static void write_device(uint8_t *to, const struct fake_op *op)
{
	put8(to, 8, 4800000000u / 1000u); /* kB/s */
	put8(to, 16, 1ull << 37);
	put4(to, 32, 32);      /* threads of a warp */
	put4(to, 36, 1980000); /* kHz */
	put4(to, 44, 132);     /* multiprocessors */
	put4(to, 52, 64);      /* of a multiprocessor: warps, blocks, shared bytes, registers */
	put4(to, 56, 32);
	put4(to, 60, 228 << 10);
	put4(to, 64, 65536);
	put4(to, 104, 9); /* compute capability */
	put4(to, 112, op->device);
	memset(to + 120, 0xab, 16);
	put8(to, 136, (uintptr_t) "Fake H200");
}

static void write_memory(uint8_t *to, size_t size, const struct fake_op *op)
{
	put4(to, 4, op->type);
	put4(to, 8, 3); /* device memory */
	put4(to, 12, op->correlation);
	put8(to, 16, op->address);
	put8(to, 24, op->bytes);
	put8(to, 32, op->start);
	put4(to, 52, op->device);
	put4(to, 56, op->context);
	if (!op->pool)
		return;
	put4(to, 80, 1); /* a pool of this process */
	put8(to, 88, op->pool);
	put8(to, 104, op->pool_bytes);
	if (size > 112)
		put8(to, 112, op->pool_used);
}

static void write_pool(uint8_t *to, size_t size, const struct fake_op *op)
{
	put4(to, 4, op->type);
	put4(to, 8, 1);
	put4(to, 12, op->correlation);
	put4(to, 20, op->device);
	put8(to, 32, op->pool);
	put8(to, 40, op->pool_bytes);
	put8(to, 56, op->start);
	if (size > 64)
		put8(to, 64, op->pool_used);
}

static void write_sync(uint8_t *to, const struct fake_op *op)
{
	put4(to, 4, op->type);
	put8(to, 8, op->start);
	put8(to, 16, op->end);
	put4(to, 24, op->correlation);
	put4(to, 28, op->context);
	put4(to, 32, op->stream);
}

static void write_graph(uint8_t *to, const struct fake_op *op)
{
	put4(to, 4, op->correlation);
	put8(to, 8, op->start);
	put8(to, 16, op->end);
	put4(to, 24, op->device);
	put4(to, 28, op->graph);
	put4(to, 32, op->context);
	put4(to, 36, op->stream);
}

static void write_memset(uint8_t *to, size_t size, const struct fake_op *op)
{
	put4(to, 4, op->value);
	put8(to, 8, op->bytes);
	put8(to, 16, op->start);
	put8(to, 24, op->end);
	put_place(to, 32, op);
	put4(to, 44, op->correlation);
	to[50] = 3;
	put8(to, 64, op->graph_node);
	if (size > 72)
		put4(to, 72, op->graph);
}

size_t fake_record_write(uint8_t *to, const struct fake_op *op)
{
	size_t size = fake_record_size(op->kind);

	memset(to, 0, size);
	put4(to, 0, op->kind);
	switch (op->kind) {
	case 1:
	case 22: write_copy(to, size, op); break;
	case 2: write_memset(to, size, op); break;
	case 8: write_device(to, op); break;
	case 10: write_kernel(to, size, op); break;
	case 38: write_sync(to, op); break;
	case 49: write_memory(to, size, op); break;
	case 50: write_pool(to, size, op); break;
	case 51: write_graph(to, op); break;
	default: break;
	}
	return size;
}
