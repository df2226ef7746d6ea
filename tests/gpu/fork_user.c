/*
 * A program that uses NVTX and forks a child that annotates 20 steps and, unless told "nvtx", starts
 * CUDA and launches a kernel in each. With "closed" the child first closes every descriptor but the
 * standard ones, as daemons do.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef int (*init_fn)(unsigned int);
typedef int (*get_fn)(void **, void *, const char *);
typedef int (*launch_fn)(void *, unsigned int, unsigned int, unsigned int, unsigned int,
			 unsigned int, unsigned int, unsigned int, void *, void **, void **);

static void work(int with_cuda)
{
	void *cuda = with_cuda ? dlopen("libcuda.so.1", RTLD_NOW) : NULL;
	launch_fn launch = cuda ? (launch_fn)dlsym(cuda, "cuLaunchKernel") : NULL;
	void *kernel = NULL;

	if (cuda) {
		((init_fn)dlsym(cuda, "cuInit"))(0);
		((get_fn)dlsym(cuda, "cuModuleGetFunction"))(&kernel, NULL, "child_kernel");
	}
	for (int i = 0; i < 20; i++) {
		nvtxRangePushA("step");
		if (launch)
			launch(kernel, 10, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
		nvtxRangePop();
	}
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "exit";
	pid_t child;
	int status = 0;

	nvtxRangePushA("parent");
	child = fork();
	if (!child) {
		for (int fd = 3; !strcmp(how, "closed") && fd < 1000; fd++)
			close(fd);
		work(strcmp(how, "nvtx") != 0);
		return 0;
	}
	waitpid(child, &status, 0);
	nvtxRangePop();
	return status != 0;
}
