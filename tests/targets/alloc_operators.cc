/*
 * Allocates known amounts of memory by the operators of C++, as alloc_sites.c does with malloc. Now
 * and then it asks for more than there is, so that operator new throws.
 */
#include "tests/targets/operators.hh"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>

static int nr_thrown;
static const size_t too_much = size_t(1) << 46;

struct alignas(128) wide {
	char bytes[384];
};

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

/* Each is above any interval, so each enters the slow path. */
static NOINLINE void ask_for_too_much(void)
{
	try {
		use(::operator new(too_much));
	} catch (const std::bad_alloc &) {
		nr_thrown++;
	}
}

static const site sites[] = {
	{ "site_new", site_new, 800000, 72, false },
	{ "site_array", site_array, 120000, 500, false },
	{ "site_sized", site_sized, 300000, 200, false },
	{ "site_aligned", site_aligned, 150000, sizeof(wide), false },
	{ "site_nothrow", site_nothrow, 400000, 120, false },
	{ "site_kept", site_kept, 40000, 300, true },
};

int main()
{
	return run_sites(sites, ask_for_too_much) && nr_thrown == sizeof(sites) / sizeof(*sites)
		       ? 0
		       : 1;
}
