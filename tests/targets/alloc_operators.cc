/*
 * Allocates known amounts of memory by the operators of C++, as alloc_sites.c does with malloc. Now
 * and then it asks for more than there is, so that operator new throws.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>

#define NOINLINE __attribute__((noinline, noclone))

static int nr_thrown;
static const size_t too_much = size_t(1) << 46;

template <typename T> static T *use(T *block)
{
	__asm__ volatile("" : : "r"(block) : "memory");
	return block;
}

struct alignas(128) wide {
	char bytes[384];
};

static NOINLINE void site_new(size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		::operator delete(use(::operator new(72)));
}

static NOINLINE void site_array(size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		delete[] use(new char[500]);
}

static NOINLINE void site_sized(size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		::operator delete(use(::operator new(200)), size_t(200));
}

static NOINLINE void site_aligned(size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		delete use(new wide);
}

static NOINLINE void site_nothrow(size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		::operator delete(use(::operator new(120, std::nothrow)), std::nothrow);
}

static NOINLINE void site_kept(size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		use(::operator new(300));
}

/* Each is above any interval, so each enters the slow path. */
static NOINLINE void ask_for_too_much(void)
{
	try {
		use(::operator new(too_much));
	} catch (const std::bad_alloc &) {
		nr_thrown++;
	}
}

static const struct site {
	const char *name;
	void (*run)(size_t nr);
	size_t nr, size;
	bool is_kept;
} sites[] = {
	{ "site_new", site_new, 800000, 72, false },
	{ "site_array", site_array, 120000, 500, false },
	{ "site_sized", site_sized, 300000, 200, false },
	{ "site_aligned", site_aligned, 150000, sizeof(wide), false },
	{ "site_nothrow", site_nothrow, 400000, 120, false },
	{ "site_kept", site_kept, 40000, 300, true },
};

int main()
{
	char line[16];

	setvbuf(stdout, NULL, _IONBF, 0);
	printf("ready\n");
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	for (const site &s : sites) {
		s.run(s.nr);
		ask_for_too_much();
	}
	for (const site &s : sites)
		printf("%s %zu %zu\n", s.name, s.nr * s.size, s.is_kept ? s.nr * s.size : 0);
	printf("end\n");
	while (fgets(line, sizeof(line), stdin))
		;
	return nr_thrown == sizeof(sites) / sizeof(*sites) ? 0 : 1;
}
