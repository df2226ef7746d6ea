/*
 * A program that starts CUDA and only then loads a library that needs a libcupti of the program's
 * own. Compiled three times: the program, its library (-DLIBRARY), and a libcupti that has a
 * function more than that of the tests (-DNEWEST, beside tests/gpu/fake_cupti.c).
 *
 *	own_cupti LIBRARY LAUNCHES
 *
 * LIBRARY may be "-". NEWEST is the function that the library needs, for instance
 * cuptiActivityEnableAndDump of a real libcupti.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

#ifdef LIBRARY
int cuptiGetVersion(unsigned int *version);
int NEEDED();

EXPORT unsigned int own_version(void)
{
	unsigned int version = 0;
	int (*volatile needed)() = NEEDED; /* bound when the library is loaded */

	return needed && !cuptiGetVersion(&version) ? version : 0;
}
#elif defined(NEWEST)
EXPORT int cuptiNewest(void)
{
	return 0;
}
#else
static int launch(void *cuda, long n)
{
	int (*get)(void **, void *, const char *) = dlsym(cuda, "cuModuleGetFunction");
	int (*run)(void *, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int,
		   unsigned int, unsigned int, void *, void **, void **) =
		dlsym(cuda, "cuLaunchKernel");
	void *kernel;
	int err = n ? get(&kernel, NULL, "kernel") : 0;

	while (!err && n--)
		err = run(kernel, 10, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
	return err;
}

int main(int argc, char **argv)
{
	const struct timespec pause = { 0, 300000000 };
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW), *library;
	int (*init)(unsigned int) = cuda ? dlsym(cuda, "cuInit") : NULL;
	unsigned int (*version)(void);
	int err = init ? init(0) : -1;

	if (argc < 3)
		return 2;
	printf("cuInit %d\n", err);
	if (argv[1][0] != '-') {
		library = dlopen(argv[1], RTLD_NOW);
		version = library ? dlsym(library, "own_version") : NULL;
		if (!version) {
			printf("broken: %s\n", dlerror());
			return 1;
		}
		printf("own libcupti %u\n", version());
	}
	nanosleep(&pause, NULL);
	printf("launched %d\n", launch(cuda, atol(argv[2])));
	return 0;
}
#endif
