// What programs share that allocate known amounts by operators of C++: sites, and how they are run.
#ifndef SPROF_TESTS_OPERATORS_H
#define SPROF_TESTS_OPERATORS_H

#include <cstddef>
#include <cstdio>

#define NOINLINE __attribute__((noinline, noclone))

template <typename T> static T *use(T *block)
{
	__asm__ volatile("" : : "r"(block) : "memory");
	return block;
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

struct site {
	const char *name;
	void (*run)(size_t nr);
	size_t nr, size;
	bool is_kept;
};

// As alloc_sites.c: says "ready", runs them when a line comes, prints what each has allocated and
// kept, and goes on until its input ends. `between` is called after each. Returns false without a line.
template <size_t N> static bool run_sites(const site (&sites)[N], void (*between)())
{
	char line[16];

	setvbuf(stdout, NULL, _IONBF, 0);
	printf("ready\n");
	if (!fgets(line, sizeof(line), stdin))
		return false;
	for (const site &s : sites) {
		s.run(s.nr);
		if (between)
			between();
	}
	for (const site &s : sites)
		printf("%s %zu %zu\n", s.name, s.nr * s.size, s.is_kept ? s.nr * s.size : 0);
	printf("end\n");
	while (fgets(line, sizeof(line), stdin))
		;
	return true;
}

#endif
