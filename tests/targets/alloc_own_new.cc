/*
 * Its operators new and delete are its own: before each block of operator new lies a header, and
 * operator delete takes no other block. Linked with -static, malloc is in the same file. Allocates
 * known amounts, as alloc_operators.cc does.
 */
#include "tests/targets/operators.hh"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>

struct alignas(16) header {
	uint64_t magic;
};
static const uint64_t whole = 0x6f776e206e657721;

#define COUNTED(size) ((size) + sizeof(header)) /* at malloc */

/* The first instructions of a function that calls another one at once cannot be hooked. */
static inline __attribute__((always_inline)) void begin_slowly()
{
	__asm__ volatile(".byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n\t" /* nopl 0(%rax,%rax) */
			 ".byte 0x0f, 0x1f, 0x44, 0x00, 0x00");
}

static inline __attribute__((always_inline)) void *with_header(void *memory)
{
	header *h = static_cast<header *>(memory);

	if (!h)
		return nullptr;
	h->magic = whole;
	return h + 1;
}

NOINLINE void *operator new(size_t size)
{
	void *block;

	begin_slowly();
	block = with_header(malloc(size + sizeof(header)));
	if (!block)
		throw std::bad_alloc();
	return block;
}

NOINLINE void operator delete(void *block) noexcept
{
	header *h = static_cast<header *>(block) - 1;

	if (!block)
		return;
	if (h->magic != whole) {
		fprintf(stderr, "operator new did not allocate this block\n");
		abort();
	}
	h->magic = 0;
	free(use(h));
}

NOINLINE void operator delete(void *block, size_t) noexcept
{
	operator delete(block);
}

static const site sites[] = {
	{ "site_new", site_new, 800000, COUNTED(72), false },
	{ "site_array", site_array, 120000, COUNTED(500), false },
	{ "site_kept", site_kept, 40000, COUNTED(300), true },
};

int main()
{
	return run_sites(sites, nullptr) ? 0 : 1;
}
