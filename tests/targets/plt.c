// Calls through PLT stubs, and first calls that the dynamic linker binds lazily in a library that
// is loaded again and again. True shares: main;call_stubs and its callees 50 %, main;bind_lazily
// and its callees 50 %.
// BUILD: -fno-builtin -Wl,-z,lazy -lplt -Wl,-rpath,$ORIGIN
#include "tests/targets/work.h"

#include <dlfcn.h>

unsigned plt_tiny(unsigned x);

NOIPA unsigned call_stubs(unsigned nr)
{
	unsigned x = 0;

	while (nr--)
		x = plt_tiny(x);
	return x;
}

NOIPA unsigned bind_lazily(int nr)
{
	unsigned sum = 0;

	while (nr--) {
		void *handle = dlopen("liblazy.so", RTLD_LAZY);
		unsigned (*bind)(void) =
			handle ? (unsigned (*)(void))dlsym(handle, "bind_a_dozen") : NULL;

		if (!bind)
			abort();
		sum += bind();
		dlclose(handle);
	}
	return sum;
}

int main(int argc, char **argv)
{
	uint64_t budget = budget_ns(argc, argv), ns_stubs = 0, ns_lazy = 0;

	while (ns_stubs + ns_lazy < budget) {
		TIMED(ns_lazy, bind_lazily(100));
		while (ns_stubs < ns_lazy)
			TIMED(ns_stubs, call_stubs(1000000));
	}
	truth(ns_stubs, "main;call_stubs;**");
	truth(ns_lazy, "main;bind_lazily;**");
	return 0;
}
