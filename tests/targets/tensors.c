/*
 * Reports blocks of known sizes at known places, as PyTorch's allocators do. usage: tensors
 * LIBRARY [hostile | fast MILLISECONDS]. It loads the library at the first line on standard input,
 * reports at the second and ends at the end of standard input. It prints for each place "NAME
 * BYTES LIVE", for each device "device NAME BYTES LIVE PEAK", and "arguments ok" if all have
 * reached the library.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/clock.h"

#define NOINLINE __attribute__((noinline, noclone))
#define KIB 1024ll
#define MIB (1024ll * 1024)
#define RESERVED (1ull << 33)

struct device {
	int8_t type, index;
};

static const struct device cpu = { 0, -1 }, first = { 1, 0 }, second = { 1, 1 };

typedef void report_fn(void *, int64_t, uint64_t, uint64_t, struct device);
typedef void short_fn(void *, int64_t, struct device);
static report_fn *report, *report_signed;
static short_fn *report_short;
static uint64_t sums[6], *c10_sums;

/* What an allocator holds. */
static struct held {
	const char *name;
	struct device device;
	int64_t bytes, now, peak;
} held[] = { { "cpu", { 0, -1 }, 0, 0, 0 },
	     { "cuda:0", { 1, 0 }, 0, 0, 0 },
	     { "cuda:1", { 1, 1 }, 0, 0, 0 } };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct held *held_of(struct device device)
{
	return &held[device.type == 0 ? 0 : 1 + device.index];
}

static void expect(uint64_t block, int64_t size, uint64_t allocated, uint64_t reserved,
		   struct device device)
{
	const uint64_t values[] = { block,
				    (uint64_t)size,
				    allocated,
				    reserved,
				    (uint64_t)(uint8_t)device.type + 256u * (uint8_t)device.index,
				    2 };

	for (int i = 0; i < 6; i++)
		sums[i] += values[i];
}

/* The call of each place is inlined into it: what reports is the place itself. */
static inline __attribute__((always_inline)) void change(uint64_t block, int64_t size,
							 struct device device)
{
	struct held *h = held_of(device);

	pthread_mutex_lock(&lock);
	h->now += size;
	h->bytes += size > 0 ? size : 0;
	h->peak = h->now > h->peak ? h->now : h->peak;
	expect(block, size, (uint64_t)h->now, RESERVED, device);
	report((void *)(uintptr_t)block, size, (uint64_t)h->now, RESERVED, device);
	pthread_mutex_unlock(&lock);
}

/* Addresses as the CUDA driver gives them: the same ones may be used on two devices. */
static uint64_t address(unsigned int place, unsigned int i)
{
	return 0x7f0000000000ull + place * 0x100000000ull + i * 0x200000ull;
}

static NOINLINE void site_weights(void)
{
	for (unsigned int i = 0; i < 10; i++)
		change(address(0, i), MIB, first);
	__asm__ volatile("");
}

static NOINLINE void site_steps(void)
{
	for (unsigned int i = 0; i < 300; i++) {
		change(address(1, 0), 512 * KIB, first);
		change(address(1, 0), -512 * KIB, first);
	}
	__asm__ volatile("");
}

static NOINLINE void site_peak(void)
{
	change(address(2, 0), 64 * MIB, first);
	nanosleep(&(struct timespec){ 0, 120 * 1000 * 1000 }, NULL);
	change(address(2, 0), -64 * MIB, first);
	__asm__ volatile("");
}

/* The addresses of site_weights, on the other device. */
static NOINLINE void site_second(void)
{
	for (unsigned int i = 0; i < 5; i++)
		change(address(0, i), 3 * MIB, second);
	for (unsigned int i = 0; i < 2; i++)
		change(address(0, i), -3 * MIB, second);
	__asm__ volatile("");
}

static NOINLINE void site_cpu(void)
{
	for (unsigned int i = 0; i < 7; i++)
		change(address(0, i), 100 + i, cpu);
	for (unsigned int i = 0; i < 3; i++)
		change(address(0, i), -(int64_t)(100 + i), cpu);
	__asm__ volatile("");
}

static void *free_crossed(void *unused)
{
	for (unsigned int i = 0; i < 20; i++)
		change(address(3, i), -(int64_t)(i + 1) * 4 * KIB, first);
	return unused;
}

static NOINLINE void site_crossed(void)
{
	pthread_t thread;

	for (unsigned int i = 0; i < 25; i++)
		change(address(3, i), (i + 1) * 4 * KIB, first);
	pthread_create(&thread, NULL, free_crossed, NULL);
	pthread_join(thread, NULL);
}

/* The functions of older versions; these have no totals of their own. */
static NOINLINE void site_older(void)
{
	struct held *h = held_of(second);

	h->now += 6 * MIB;
	h->bytes += 6 * MIB + 2 * MIB;
	expect(address(4, 0), 6 * MIB, (uint64_t)h->now, RESERVED, second);
	report_signed((void *)(uintptr_t)address(4, 0), 6 * MIB, (uint64_t)h->now, RESERVED,
		      second);
	expect(address(4, 1), 2 * MIB, 0, 0, second);
	report_short((void *)(uintptr_t)address(4, 1), 2 * MIB, second);
	expect(address(4, 1), -2 * MIB, 0, 0, second);
	report_short((void *)(uintptr_t)address(4, 1), -2 * MIB, second);
	h->peak = h->now + 2 * MIB > h->peak ? h->now + 2 * MIB : h->peak;
	__asm__ volatile("");
}

static NOINLINE void site_hostile(void)
{
	static const int64_t sizes[] = { 1ll << 62, -(1ll << 62), INT64_MIN, INT64_MAX, -1, 0 };

	for (unsigned int i = 0; i < 6; i++) {
		for (int type = -128; type < 128; type += 51) {
			struct device device = { (int8_t)type, (int8_t)(3 * type + (int)i) };

			expect(address(5, i), sizes[i], UINT64_MAX, UINT64_MAX, device);
			report((void *)(uintptr_t)address(5, i), sizes[i], UINT64_MAX, UINT64_MAX,
			       device);
		}
	}
	expect(0, 4096, 0, 0, first);
	report(NULL, 4096, 0, 0, first);
	expect(UINT64_MAX, -4096, 0, 0, first);
	report((void *)(uintptr_t)UINT64_MAX, -4096, 0, 0, first);
	for (int i = 0; i < 100; i++) { /* more devices than there is room for */
		struct device device = { 2, (int8_t)i };

		expect(address(5, 9), -512, 0, 0, device);
		report((void *)(uintptr_t)address(5, 9), -512, 0, 0, device);
	}
}

/* As fast as it can: sizes from 512 bytes to 8 MiB, every tenth block stays. */
static NOINLINE void site_fast(uint64_t ms)
{
	uint64_t end = monotonic_ns() + ms * 1000000;

	for (unsigned int i = 0; monotonic_ns() < end; i++) {
		int64_t size = 512ll << i % 15;

		change(address(6, i), size, first);
		if (i % 10)
			change(address(6, i), -size, first);
	}
}

static void say(const char *name, struct held before[3])
{
	uint64_t bytes = 0, live = 0;

	for (int i = 0; i < 3; i++) {
		bytes += (uint64_t)(held[i].bytes - before[i].bytes);
		live += (uint64_t)(held[i].now - before[i].now);
		before[i] = held[i];
	}
	printf("%s %llu %llu\n", name, (unsigned long long)bytes, (unsigned long long)live);
}

static void load(const char *path)
{
	void *library = dlopen(path, RTLD_NOW);

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	report = (report_fn *)dlsym(library,
				    "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE");
	report_signed = (report_fn *)dlsym(library,
					   "_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE");
	report_short =
		(short_fn *)dlsym(library, "_ZN3c1027reportMemoryUsageToProfilerEPvlNS_6DeviceE");
	c10_sums = dlsym(library, "c10_sums");
}

static void run(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} sites[] = { { "site_weights", site_weights }, { "site_steps", site_steps },
		      { "site_peak", site_peak },	{ "site_second", site_second },
		      { "site_cpu", site_cpu },		{ "site_crossed", site_crossed },
		      { "site_older", site_older } };
	struct held before[3];

	memcpy(before, held, sizeof(before));
	if (argc > 3) {
		site_fast(strtoul(argv[3], NULL, 10));
		say("site_fast", before);
		return;
	}
	for (size_t i = 0; i < sizeof(sites) / sizeof(*sites); i++) {
		sites[i].run();
		say(sites[i].name, before);
	}
	if (argc > 2)
		site_hostile();
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	printf("ready\n");
	fflush(stdout);
	getchar();
	load(argv[1]);
	printf("loaded\n");
	fflush(stdout);
	getchar();
	run(argc, argv);
	for (int i = 0; i < 3; i++)
		printf("device %s %lld %lld %lld\n", held[i].name, (long long)held[i].bytes,
		       (long long)held[i].now, (long long)held[i].peak);
	printf("arguments %s\n", memcmp(sums, c10_sums, sizeof(sums)) ? "differ" : "ok");
	printf("end\n");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
