// Loads, uses and unloads two libraries in turn, at the same address. True shares:
// use;plug_a;plug_a_work 60 %, use;plug_b;plug_b_work 40 %.
// BUILD: -Wl,-rpath,$ORIGIN
#include "tests/targets/work.h"

#include <dlfcn.h>

NOIPA uintptr_t use(const char *library, const char *function, uint64_t *ns)
{
	void *handle = dlopen(library, RTLD_NOW);
	void (*plug)(void) = handle ? (void (*)(void))dlsym(handle, function) : NULL;

	if (!plug) {
		fprintf(stderr, "dlopen: %s\n", dlerror());
		exit(1);
	}
	TIMED(*ns, plug());
	dlclose(handle);
	return (uintptr_t)plug;
}

int main(int argc, char **argv)
{
	uint64_t budget = budget_ns(argc, argv), ns_a = 0, ns_b = 0;
	unsigned nr_same = 0;

	while (ns_a + ns_b < budget) {
		uintptr_t a = use("libplug_a.so", "plug_a", &ns_a);
		uintptr_t b = use("libplug_b.so", "plug_b", &ns_b);

		nr_same += a == b;
	}
	if (!nr_same) {
		fprintf(stderr, "dlopen: the libraries never shared an address\n");
		return 1;
	}
	truth(ns_a, "main;use;plug_a;plug_a_work");
	truth(ns_b, "main;use;plug_b;plug_b_work");
	return 0;
}
