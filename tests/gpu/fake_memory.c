/* Device memory of the fake libcuda.so.1: addresses without memory behind them, and one pool. */
#include <stddef.h>
#include <stdint.h>

#include "tests/gpu/fake_cuda.h"
#include "tests/gpu/fake_gpu.h"

#define API __attribute__((visibility("default")))

typedef int CUresult;

static uint64_t next_address = 0x7f0000000000;

/* The pool of device 0 grows by 4 MiB and returns memory to the device when it is trimmed. */
#define POOL_ADDRESS 0x5000000
#define POOL_STEP (4ull << 20)

static uint64_t pool_bytes, pool_used;

static void pool_operation(uint32_t type)
{
	struct fake_op op = { .kind = 50, .type = type, .pool = POOL_ADDRESS };

	op.start = op.end = fake_now();
	op.pool_bytes = pool_bytes;
	op.pool_used = pool_used;
	fake_emit(&op);
}

static CUresult pool_memory(struct fake_call *c, uint32_t type, uint64_t address, uint64_t bytes)
{
	struct fake_op op = { .kind = 49, .type = type, .address = address, .bytes = bytes };

	if (!pool_bytes)
		pool_operation(1);
	fake_enter(c);
	pool_used += type == 1 ? bytes : 0 - bytes;
	while (pool_bytes < pool_used)
		pool_bytes += POOL_STEP;
	op.correlation = c->correlation;
	op.start = op.end = fake_now();
	op.context = 1;
	op.pool = POOL_ADDRESS;
	op.pool_bytes = pool_bytes;
	op.pool_used = pool_used;
	fake_emit(&op);
	return fake_leave(c);
}

/* The size of an allocation, by address. For programs that allocate in one thread. */
static uint64_t *book_of(uint64_t address)
{
	static struct {
		uint64_t address, bytes;
	} book[4096];

	for (size_t i = 0; i < sizeof(book) / sizeof(book[0]); i++)
		if (book[i].address == address)
			return &book[i].bytes;
	for (size_t i = 0; i < sizeof(book) / sizeof(book[0]); i++)
		if (!book[i].bytes) {
			book[i].address = address;
			return &book[i].bytes;
		}
	return &book[0].bytes;
}

API CUresult cuMemAllocAsync(uint64_t *address, size_t bytes, void *stream)
{
	struct fake_call c = { .name = "cuMemAllocAsync", .cbid = 598 };

	(void)stream;
	*address = __atomic_fetch_add(&next_address, bytes, __ATOMIC_RELAXED);
	*book_of(*address) = bytes;
	return pool_memory(&c, 1, *address, bytes);
}

API CUresult cuMemFreeAsync(uint64_t address, void *stream)
{
	struct fake_call c = { .name = "cuMemFreeAsync", .cbid = 600 };
	uint64_t *bytes = book_of(address), freed = *bytes;

	(void)stream;
	*bytes = 0;
	return pool_memory(&c, 2, address, freed);
}

/* Not in CUDA: the caller passes the size. */
API CUresult cuMemFreeAsyncFake(uint64_t address, size_t bytes)
{
	struct fake_call c = { .name = "cuMemFreeAsync", .cbid = 600 };

	return pool_memory(&c, 2, address, bytes);
}

/* Not in CUDA: trims the pool to what is in use. */
API CUresult cuMemPoolTrimFake(void)
{
	pool_bytes = (pool_used + POOL_STEP - 1) / POOL_STEP * POOL_STEP;
	pool_operation(3);
	return 0;
}

API CUresult cuMemPoolTrimTo(void *pool, size_t least)
{
	(void)pool;
	return least ? 801 : cuMemPoolTrimFake();
}

API CUresult cuDeviceGetDefaultMemPool(void **pool, int d)
{
	*pool = (void *)POOL_ADDRESS;
	return d ? 801 : 0;
}

API CUresult cuMemPoolSetAttribute(void *pool, int attribute, void *value)
{
	(void)pool;
	(void)attribute;
	(void)value;
	return 0;
}

static CUresult memory(struct fake_call *c, uint32_t type, uint64_t address, uint64_t bytes)
{
	struct fake_op op = { .kind = 49, .type = type, .address = address, .bytes = bytes };

	fake_enter(c);
	op.correlation = c->correlation;
	op.start = op.end = fake_now();
	op.device = fake_device;
	op.context = fake_device + 1;
	fake_emit(&op);
	return fake_leave(c);
}

API CUresult cuMemAlloc_v2(uint64_t *address, size_t bytes)
{
	struct fake_call c = { .name = "cuMemAlloc_v2", .cbid = 243 };

	*address = __atomic_fetch_add(&next_address, (bytes + 511) & ~511ull, __ATOMIC_RELAXED);
	*book_of(*address) = bytes;
	return memory(&c, 1, *address, bytes);
}

API CUresult cuMemFree_v2(uint64_t address)
{
	struct fake_call c = { .name = "cuMemFree_v2", .cbid = 245 };
	uint64_t *bytes = book_of(address), freed = *bytes;

	*bytes = 0;
	return memory(&c, 2, address, freed);
}

/* Not in CUDA: the caller passes the size. */
API CUresult cuMemFreeFake(uint64_t address, size_t bytes)
{
	struct fake_call c = { .name = "cuMemFree_v2", .cbid = 245 };

	return memory(&c, 2, address, bytes);
}
