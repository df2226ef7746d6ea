// BUILD: cli/info/gpu_facts.c
/* What sprof doctor says of GPUs, over folders that stand for a host. */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/info/gpu_facts.h"
#include "core/base/alloc.h"

static char *new_root(void)
{
	char template[] = "/tmp/sprof-gpu-facts-XXXXXX";

	return xstrdup(mkdtemp(template));
}

static void put(const char *root, const char *path, const char *text)
{
	char *whole = xasprintf("%s%s", root, path);
	FILE *f;

	for (char *slash = whole + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(whole, 0700);
		*slash = '/';
	}
	f = fopen(whole, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	free(whole);
}

static void remove_root(char *root)
{
	char *command = xasprintf("rm -r '%s'", root);

	assert_int_equal(system(command), 0);
	free(command);
	free(root);
}

static void says(const char *root, bool has_library, bool ok, const char *what)
{
	struct gpu_facts f;

	gpu_facts_of_host(root, has_library, &f);
	assert_int_equal(f.ok, ok);
	assert_string_equal(f.what, what);
}

static void a_host_says_what_is_missing_next(void **state)
{
	char *root = new_root();

	(void)state;
	says(root, false, false, "libsprof-gpu.so is not beside sprof, nor in ../lib/sprof");
	says(root, true, false,
	     "no driver of NVIDIA is loaded; NVTX ranges are recorded all the same");
	put(root, "/proc/driver/nvidia/version",
	    "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.01  Mon\nGCC version: 12.2\n");
	says(root, true, false, "NVIDIA's driver is loaded, but there is no /dev/nvidiactl here");
	put(root, "/dev/nvidiactl", "");
	put(root, "/dev/nvidia-uvm", "");
	says(root, true, false, "NVIDIA's driver is loaded, but there is no /dev/nvidia0");
	put(root, "/dev/nvidia0", "");
	says(root, true, true, "OK: driver 580.159.01, 1 GPU; libcuda.so.1 is in no usual folder");
	put(root, "/dev/nvidia1", "");
	put(root, "/usr/lib64/libcuda.so.1", "");
	says(root, true, true, "OK: driver 580.159.01, 2 GPUs");
	remove_root(root);
}

static void process_says(const char *maps, bool can_inject, bool ok, const char *what)
{
	char *root = new_root();
	struct gpu_facts f;

	put(root, "/proc/7/maps", maps);
	gpu_facts_of_process(root, 7, can_inject, "a seccomp filter", &f);
	assert_int_equal(f.ok, ok);
	assert_string_equal(f.what, what);
	gpu_facts_of_process(root, 8, can_inject, "", &f);
	assert_string_equal(f.what, "its mapped files cannot be read");
	remove_root(root);
}

static void a_process_says_what_it_has_mapped(void **state)
{
	static const char cuda[] = "7f00-7f01 r-xp 0 08:01 1 /usr/lib/libcuda.so.580.159\n";
	static const char both[] = "7f00-7f01 r-xp 0 08:01 1 /usr/lib/libcuda.so.580.159\n"
				   "7f02-7f03 r-xp 0 08:01 2 /opt/sprof/libsprof-gpu.so\n"
				   "7f04-7f05 r-xp 0 08:01 3 /venv/nvidia/lib/libcupti.so.13\n";

	(void)state;
	process_says("", true, false, "CUDA is not in use: no libcuda.so is mapped");
	process_says(cuda, false, false, "a seccomp filter");
	process_says(cuda, true, true,
		     "OK: libsprof-gpu.so can be loaded by ptrace; no libcupti is mapped: the "
		     "newest that the driver takes is loaded");
	process_says(both, false, true,
		     "OK: libsprof-gpu.so is loaded; libcupti is /venv/nvidia/lib/libcupti.so.13");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_host_says_what_is_missing_next),
		cmocka_unit_test(a_process_says_what_it_has_mapped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
