/*
 * Its operators new and delete are its own: before each block of operator new lies a header, and
 * operator delete takes no other block. Linked with -static, malloc is in the same file. Allocates
 * known amounts, as alloc_operators.cc does.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>

#define NOINLINE __attribute__((noinline, noclone))

struct alignas(16) header {
	uint64_t magic;
};
static const uint64_t whole = 0x6f776e206e657721;

#define COUNTED(size) ((size) + sizeof(header)) /* at malloc */

template <typename T> static T *use(T *block)
{
	__asm__ volatile("" : : "r"(block) : "memory");
	return block;
}

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

static NOINLINE void site_kept(size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		use(::operator new(300));
}

static const struct site {
	const char *name;
	void (*run)(size_t nr);
	size_t nr, size;
	bool is_kept;
} sites[] = {
	{ "site_new", site_new, 800000, COUNTED(72), false },
	{ "site_array", site_array, 120000, COUNTED(500), false },
	{ "site_kept", site_kept, 40000, COUNTED(300), true },
};

int main()
{
	char line[16];

	setvbuf(stdout, NULL, _IONBF, 0);
	printf("ready\n");
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	for (const site &s : sites)
		s.run(s.nr);
	for (const site &s : sites)
		printf("%s %zu %zu\n", s.name, s.nr * s.size, s.is_kept ? s.nr * s.size : 0);
	printf("end\n");
	while (fgets(line, sizeof(line), stdin))
		;
	return 0;
}
