/*
 * A stand-in for PyTorch's libc10.so: the functions that its allocators report to, by their names
 * of three times. They add up their arguments, so that a caller sees whether all arrived.
 */
#include <stdint.h>

/* As a c10::Device: one register holds both bytes. */
struct device {
	int8_t type, index;
};

uint64_t c10_sums[6];

__attribute__((noipa)) static void count(void *block, int64_t size, uint64_t allocated,
					 uint64_t reserved, struct device device)
{
	__atomic_fetch_add(&c10_sums[0], (uintptr_t)block, __ATOMIC_RELAXED);
	__atomic_fetch_add(&c10_sums[1], (uint64_t)size, __ATOMIC_RELAXED);
	__atomic_fetch_add(&c10_sums[2], allocated, __ATOMIC_RELAXED);
	__atomic_fetch_add(&c10_sums[3], reserved, __ATOMIC_RELAXED);
	__atomic_fetch_add(&c10_sums[4],
			   (uint64_t)(uint8_t)device.type + 256u * (uint8_t)device.index,
			   __ATOMIC_RELAXED);
	__atomic_fetch_add(&c10_sums[5], 1, __ATOMIC_RELAXED);
}

#define NAMED(name) __asm__("_ZN3c1027reportMemoryUsageToProfilerE" name)

void report(void *block, int64_t size, uint64_t allocated, uint64_t reserved, struct device device)
	NAMED("PvlmmNS_6DeviceE");
void report_signed(void *block, int64_t size, int64_t allocated, int64_t reserved,
		   struct device device) NAMED("PvlllNS_6DeviceE");
void report_short(void *block, int64_t size, struct device device) NAMED("PvlNS_6DeviceE");

/* Each calls twice, so that it saves its arguments first, as PyTorch's does. */
void report(void *block, int64_t size, uint64_t allocated, uint64_t reserved, struct device device)
{
	count(block, 0, allocated, 0, device);
	count(0, size, 0, reserved, (struct device){ 0, 0 });
}

void report_signed(void *block, int64_t size, int64_t allocated, int64_t reserved,
		   struct device device)
{
	count(block, 0, (uint64_t)allocated, 0, device);
	count(0, size, 0, (uint64_t)reserved, (struct device){ 0, 0 });
}

void report_short(void *block, int64_t size, struct device device)
{
	count(0, size, 0, 0, (struct device){ 0, 0 });
	count(block, 0, 0, 0, device);
}
