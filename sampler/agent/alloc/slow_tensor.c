/*
 * c10::reportMemoryUsageToProfiler(), which PyTorch's allocators call for each block that they
 * hand out, and with a negative size for each that they take back. The allocators of GPUs always
 * call it, under the lock of the device, so reports of a device are in order; that of CPU memory
 * calls it while torch.profiler records memory.
 *
 * A block's key in the table of live blocks is its address with the device in the upper bits: no
 * address of a program has bit 47, so keys and addresses of malloc(3) never meet.
 *
 * The original is jumped to: it may throw, and no exception can pass through a frame of ours.
 */
#include "sampler/agent/alloc/slow_path.h"

#define DEVICE_MASK 0xffffu
#define ADDRESS_BITS 47
#define MEAN_MOST (1ull << 34)

/* NULL: there are too many. */
static struct alloc_device *device_of(struct alloc_shared *s, __u32 number)
{
	for (__u32 i = 0; i < ALLOC_NR_DEVICES; i++) {
		struct alloc_device *d = &s->devices[i];
		__u32 is = __atomic_load_n(&d->device, __ATOMIC_RELAXED);

		if (!is && __atomic_compare_exchange_n(&d->device, &is, number, 0, __ATOMIC_RELAXED,
						       __ATOMIC_RELAXED))
			return d;
		if (is == number)
			return d;
	}
	__atomic_fetch_add(&s->nr_other_devices, 1, __ATOMIC_RELAXED);
	return (void *)0;
}

static void raise(__u64 *peak, __u64 value)
{
	__u64 is = __atomic_load_n(peak, __ATOMIC_RELAXED);

	while (is < value && !__atomic_compare_exchange_n(peak, &is, value, 0, __ATOMIC_RELAXED,
							  __ATOMIC_RELAXED))
		;
}

static void note(struct alloc_device *d, __s64 size, __u64 allocated, __u64 reserved)
{
	if (!__atomic_exchange_n(&d->has_begun, 1, __ATOMIC_RELAXED))
		__atomic_store_n(&d->before_bytes, allocated - (__u64)size, __ATOMIC_RELAXED);
	if (size > 0) {
		__atomic_fetch_add(&d->nr_blocks, 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&d->nr_bytes, (__u64)size, __ATOMIC_RELAXED);
	}
	__atomic_store_n(&d->allocated, allocated, __ATOMIC_RELAXED);
	__atomic_store_n(&d->reserved, reserved, __ATOMIC_RELAXED);
	raise(&d->peak, allocated);
	raise(&d->peak_reserved, reserved);
}

/* A report; `frame` as in struct alloc_taken. */
struct report {
	__u64 block;
	__s64 size;
	__u64 allocated, reserved;
	__u32 device;
	int has_totals;
	const __u64 *frame;
};

/*
 * More blocks than the recorder reads in time fill the ring. Each draw has the interval that chose
 * it, so a longer one for a while leaves sums unbiased, where lost draws would not.
 */
static __u64 least_interval(struct alloc_private *a, const struct alloc_device *d)
{
	const struct ring *ring = &alloc_shared_of(a)->ring;
	__u64 used = __atomic_load_n(&ring->head, __ATOMIC_RELAXED) -
		     __atomic_load_n(&ring->tail, __ATOMIC_RELAXED);
	__u64 nr = __atomic_load_n(&d->nr_blocks, __ATOMIC_RELAXED), mean;

	if (used < ALLOC_RING_WORDS / 2 || !nr)
		return 0;
	mean = __atomic_load_n(&d->nr_bytes, __ATOMIC_RELAXED) / nr;
	mean = mean < MEAN_MOST ? mean + 1 : MEAN_MOST;
	return used < ALLOC_RING_WORDS / 8 * 7 ? mean * 64 : mean * 4096;
}

static void take(struct alloc_private *a, const struct report *r)
{
	struct alloc_device *d = device_of(alloc_shared_of(a), r->device + 1);
	__u64 allocated = r->allocated;
	struct alloc_taken taken = {
		.address = (r->block & ((1ull << ADDRESS_BITS) - 1)) | 1ull << ADDRESS_BITS |
			   (__u64)r->device << (ADDRESS_BITS + 1),
		.size = (__u64)r->size,
		.site = r->device,
		.frame = r->frame,
		.type = ALLOC_DRAW_OF_TENSOR,
	};

	if (d && !r->has_totals)
		allocated = __atomic_load_n(&d->allocated, __ATOMIC_RELAXED) + (__u64)r->size;
	if (d)
		note(d, r->size, allocated, r->has_totals ? r->reserved : d->reserved);
	if (!r->block || !r->size || !d)
		return;
	if (r->size < 0) {
		alloc_freed(a, alloc_live_remove(a, taken.address));
		return;
	}
	taken.interval = alloc_chosen_alone(a, taken.size, least_interval(a, d));
	if (taken.interval)
		alloc_take(a, &taken);
}

/* A function of its own, as alloc_keep(). */
static __attribute__((noinline)) void enter(const struct report *r)
{
	struct alloc_private *a = alloc_enter();

	if (a->magic == ALLOC_MAGIC)
		take(a, r);
	alloc_leave(a);
}

static __attribute__((noinline)) void report(__u64 block, __s64 size, __u64 allocated,
					     __u64 reserved, __u64 device, const __u64 *frame)
{
	const struct report r = {
		block, size, allocated, reserved, device & DEVICE_MASK, 1, frame
	};

	enter(&r);
}

static __attribute__((noinline)) void report_short(__u64 block, __s64 size, __u64 device,
						   const __u64 *frame)
{
	const struct report r = { block, size, 0, 0, device & DEVICE_MASK, 0, frame };

	enter(&r);
}

void alloc_slow_tensor(__u64 block, __s64 size, __u64 allocated, __u64 reserved, __u64 device,
		       tensor_fn *original)
{
	report(block, size, allocated, reserved, device, ALLOC_FRAME);
	original(block, size, allocated, reserved, device);
}

void alloc_slow_tensor_short(__u64 block, __s64 size, __u64 device, __u64 unused_3, __u64 unused_4,
			     short_tensor_fn *original)
{
	(void)unused_3;
	(void)unused_4;
	report_short(block, size, device, ALLOC_FRAME);
	original(block, size, device);
}
