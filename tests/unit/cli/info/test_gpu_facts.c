// BUILD: cli/info/gpu_facts.c cli/info/gpu_needs.c
/* What sprof doctor says of GPUs, over folders that stand for a host. */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/info/gpu_facts.h"
#include "cli/info/gpu_needs.h"
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

static void a_mapped_libcupti_newer_than_the_driver_is_named(void **state)
{
	char *root = new_root();
	struct gpu_facts f;

	(void)state;
	put(root, "/proc/7/maps",
	    "7f00-7f01 r-xp 0 08:01 1 /usr/lib/libcuda.so.570.1\n"
	    "7f04-7f05 r-xp 0 08:01 3 /venv/nvidia/lib/libcupti.so.13\n");
	put(root, "/proc/driver/nvidia/version",
	    "NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.172.08  Mon\n");
	gpu_facts_of_process(root, 7, true, "", &f);
	assert_false(f.ok);
	assert_string_equal(f.what, "/venv/nvidia/lib/libcupti.so.13 is of CUDA 13, the driver of "
				    "CUDA 12: no GPU data");
	put(root, "/proc/driver/nvidia/version",
	    "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Mon\n");
	gpu_facts_of_process(root, 7, true, "", &f);
	assert_true(f.ok);
	remove_root(root);
}

/* Of a user without capabilities. */
static void needs(const char *root, enum gpu_need need, bool ok, const char *what, const char *hint)
{
	struct gpu_facts f[NR_GPU_NEEDS];

	gpu_needs_of_host(root, false, f);
	assert_string_equal(f[need].what, what);
	assert_string_equal(f[need].hint, hint);
	assert_int_equal(f[need].ok, ok);
}

static void the_libcupti_of_a_host_is_compared_with_the_driver(void **state)
{
	static const char pip[] = ", where the program has none of its own; PyTorch brings one";
	char *root = new_root(), *hint = xasprintf("pip install nvidia-cuda-cupti%s", pip);
	char *hint_12 = xasprintf("pip install nvidia-cuda-cupti-cu12%s", pip);

	(void)state;
	needs(root, GPU_NEED_CUPTI, false,
	      "the driver is of an unknown version of CUDA, and no libcupti is in a usual folder",
	      hint);
	put(root, "/proc/driver/nvidia/version",
	    "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.261.03  Mon\n");
	needs(root, GPU_NEED_CUPTI, false,
	      "the driver is of CUDA 12, and no libcupti is in a usual folder", hint_12);
	put(root, "/usr/local/cuda-13.0/extras/CUPTI/lib64/libcupti.so.13", "");
	needs(root, GPU_NEED_CUPTI, false,
	      "the driver is of CUDA 12, libcupti of CUDA 13 in "
	      "/usr/local/cuda-13.0/extras/CUPTI/lib64 is too new for it",
	      hint_12);
	put(root, "/usr/lib64/libcupti.so.11.8", "");
	put(root, "/usr/lib64/libcupti.so.2022.3.0", "");
	put(root, "/usr/lib64/libcupti.so.12x", "");
	needs(root, GPU_NEED_CUPTI, true,
	      "OK: the driver is of CUDA 12, libcupti of CUDA 11 is in /usr/lib64", "");
	put(root, "/opt/cuda/lib64/libcupti.so.12", "");
	needs(root, GPU_NEED_CUPTI, true,
	      "OK: the driver is of CUDA 12, libcupti of CUDA 12 is in /opt/cuda/lib64", "");
	put(root, "/proc/driver/nvidia/version",
	    "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Mon\n");
	needs(root, GPU_NEED_CUPTI, true,
	      "OK: the driver is of CUDA 13, libcupti of CUDA 13 is in "
	      "/usr/local/cuda-13.0/extras/CUPTI/lib64",
	      "");
	free(hint);
	free(hint_12);
	remove_root(root);
}

static void the_driver_says_who_may_use_counters(void **state)
{
	static const char params[] = "/proc/driver/nvidia/params";
	char *root = new_root();

	(void)state;
	needs(root, GPU_NEED_COUNTERS, false,
	      "unknown: /proc/driver/nvidia/params does not say who may use them", "");
	put(root, params, "ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 1\nDmaRemap: 0\n");
	needs(root, GPU_NEED_COUNTERS, false,
	      "the driver lets only programs with CAP_SYS_ADMIN use them (--pc-sampling)",
	      "load the module nvidia with NVreg_RestrictProfilingToAdminUsers=0");
	put(root, params, "ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 0\n");
	needs(root, GPU_NEED_COUNTERS, true, "OK: any user's programs may use them", "");
	put(root, params, "RmProfilingAdminOnly: few\n");
	needs(root, GPU_NEED_COUNTERS, false,
	      "unknown: /proc/driver/nvidia/params does not say who may use them", "");
	remove_root(root);
}

static void attaching_takes_the_right_to_ptrace(void **state)
{
	static const char scope[] = "/proc/sys/kernel/yama/ptrace_scope";
	struct gpu_facts f[NR_GPU_NEEDS];
	char *root = new_root();

	(void)state;
	needs(root, GPU_NEED_ATTACH, true, "OK: ptrace is allowed into processes of this user", "");
	put(root, scope, "0\n");
	needs(root, GPU_NEED_ATTACH, true, "OK: ptrace is allowed into processes of this user", "");
	put(root, scope, "1\n");
	needs(root, GPU_NEED_ATTACH, false,
	      "kernel.yama.ptrace_scope is 1: processes that run already may not be entered",
	      "sudo sysctl kernel.yama.ptrace_scope=0");
	gpu_needs_of_host(root, true, f);
	assert_true(f[GPU_NEED_ATTACH].ok);
	assert_string_equal(f[GPU_NEED_ATTACH].what, "OK: ptrace is allowed into any process");
	put(root, scope, "3\n");
	gpu_needs_of_host(root, true, f);
	assert_false(f[GPU_NEED_ATTACH].ok);
	assert_string_equal(f[GPU_NEED_ATTACH].what,
			    "kernel.yama.ptrace_scope is 3: no process may be entered");
	remove_root(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_host_says_what_is_missing_next),
		cmocka_unit_test(a_process_says_what_it_has_mapped),
		cmocka_unit_test(a_mapped_libcupti_newer_than_the_driver_is_named),
		cmocka_unit_test(the_libcupti_of_a_host_is_compared_with_the_driver),
		cmocka_unit_test(the_driver_says_who_may_use_counters),
		cmocka_unit_test(attaching_takes_the_right_to_ptrace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
