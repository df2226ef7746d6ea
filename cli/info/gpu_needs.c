/*
 * Which libcupti a program gets is decided in the program (gpu/agent/cupti/library_choice.c), which
 * knows its wheels and environments. A host knows its toolkits and system folders. A CUPTI of a
 * newer major version than the driver's CUDA does not work with it.
 */
#include "cli/info/gpu_needs.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"

#define MAX_ENTRIES 100000 /* of a folder */
#define MAX_LINES 1000

const char *const gpu_need_names[NR_GPU_NEEDS] = { "gpu cupti", "gpu counters", "gpu attach" };
const char *const gpu_need_keys[NR_GPU_NEEDS] = { "cupti", "counters", "attach" };

struct search {
	const char *root;
	unsigned int driver;	   /* CUDA's major version; 0: not known, any will do */
	unsigned int best, newest; /* major versions: that the driver takes, and of all */
	char best_folder[256], newest_folder[256];
};

FILE *gpu_needs_open(const char *root, const char *path)
{
	char *whole = xasprintf("%s%s", root, path);
	FILE *f = fopen(whole, "re");

	free(whole);
	return f;
}

/* The file says "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.01 ...". */
bool gpu_needs_driver_version(const char *root, char *ret, size_t size)
{
	FILE *f = gpu_needs_open(root, "/proc/driver/nvidia/version");
	char line[256], *save, *word;
	bool found = false;

	if (f && fgets(line, sizeof(line), f))
		for (word = strtok_r(line, " \t\n", &save); word && !found;
		     word = strtok_r(NULL, " \t\n", &save))
			if (isdigit((unsigned char)*word) && strchr(word, '.')) {
				snprintf(ret, size, "%.32s", word);
				found = true;
			}
	if (f)
		fclose(f);
	return found;
}

/* NVIDIA's table of the oldest driver for each major version of CUDA (CUDA release notes). */
unsigned int gpu_needs_cuda_of_driver(const char *root)
{
	static const struct {
		unsigned long driver;
		unsigned int cuda;
	} oldest[] = { { 580, 13 }, { 525, 12 }, { 450, 11 } };
	char version[64];

	if (!gpu_needs_driver_version(root, version, sizeof(version)))
		return 0;
	for (size_t i = 0; i < sizeof(oldest) / sizeof(*oldest); i++)
		if (strtoul(version, NULL, 10) >= oldest[i].driver)
			return oldest[i].cuda;
	return 0;
}

/* Files of toolkits have names such as libcupti.so.2023.1.1, with links to them. */
unsigned int gpu_needs_cuda_of_cupti(const char *name)
{
	unsigned long major;
	char *end;

	if (strncmp(name, "libcupti.so.", strlen("libcupti.so.")) != 0)
		return 0;
	major = strtoul(name + strlen("libcupti.so."), &end, 10);
	return (*end && *end != '.') || major < 10 || major > 99 ? 0 : (unsigned int)major;
}

static void look_in(struct search *s, const char *folder)
{
	char *whole = xasprintf("%s%s", s->root, folder);
	DIR *dir = opendir(whole);
	const struct dirent *e;

	free(whole);
	for (int i = 0; dir && i < MAX_ENTRIES && (e = readdir(dir)); i++) {
		unsigned int cuda = gpu_needs_cuda_of_cupti(e->d_name);

		if (cuda > s->newest) {
			s->newest = cuda;
			snprintf(s->newest_folder, sizeof(s->newest_folder), "%s", folder);
		}
		if (cuda > s->best && (!s->driver || cuda <= s->driver)) {
			s->best = cuda;
			snprintf(s->best_folder, sizeof(s->best_folder), "%s", folder);
		}
	}
	if (dir)
		closedir(dir);
}

static void look_in_toolkit(struct search *s, const char *toolkit)
{
	static const char *const parts[] = { "lib64", "extras/CUPTI/lib64" };

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		char *folder = xasprintf("%s/%s", toolkit, parts[i]);

		look_in(s, folder);
		free(folder);
	}
}

static void look_in_toolkits(struct search *s)
{
	char *whole = xasprintf("%s/usr/local", s->root);
	DIR *dir = opendir(whole);
	const struct dirent *e;

	free(whole);
	for (int i = 0; dir && i < MAX_ENTRIES && (e = readdir(dir)); i++) {
		char *toolkit = xasprintf("/usr/local/%s", e->d_name);

		if (!strncmp(e->d_name, "cuda", strlen("cuda")))
			look_in_toolkit(s, toolkit);
		free(toolkit);
	}
	if (dir)
		closedir(dir);
	look_in_toolkit(s, "/opt/cuda");
}

static void find_cupti(const char *root, struct gpu_facts *ret)
{
	static const char *const folders[] = { "/usr/lib/x86_64-linux-gnu",
					       "/usr/lib/aarch64-linux-gnu", "/usr/lib64",
					       "/usr/lib" };
	struct search s = { .root = root, .driver = gpu_needs_cuda_of_driver(root) };
	char driver[64] = "of an unknown version of CUDA";

	look_in_toolkits(&s);
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
		look_in(&s, folders[i]);
	if (s.driver)
		snprintf(driver, sizeof(driver), "of CUDA %u", s.driver);
	ret->ok = s.best != 0;
	if (s.best) {
		snprintf(ret->what, sizeof(ret->what),
			 "OK: the driver is %s, libcupti of CUDA %u is in %s", driver, s.best,
			 s.best_folder);
		return;
	}
	if (s.newest)
		snprintf(ret->what, sizeof(ret->what),
			 "the driver is %s, libcupti of CUDA %u in %s is too new for it", driver,
			 s.newest, s.newest_folder);
	else
		snprintf(ret->what, sizeof(ret->what),
			 "the driver is %s, and no libcupti is in a usual folder", driver);
	snprintf(ret->hint, sizeof(ret->hint), "pip install nvidia-cuda-cupti%s, %s",
		 s.driver == 11	  ? "-cu11"
		 : s.driver == 12 ? "-cu12"
				  : "",
		 "where the program has none of its own; PyTorch brings one");
}

/* Returns the first line of a file that begins with the key and ':'; false if there is none. */
static bool read_setting(const char *root, const char *path, const char *key, long *ret)
{
	FILE *f = gpu_needs_open(root, path);
	char line[256], *end;
	size_t length = strlen(key);
	bool found = false;

	for (int i = 0; f && !found && i < MAX_LINES && fgets(line, sizeof(line), f); i++) {
		if (strncmp(line, key, length) != 0)
			continue;
		*ret = strtol(line + length, &end, 10);
		found = end != line + length;
	}
	if (f)
		fclose(f);
	return found;
}

/* Programs sample their own kernels (record --pc-sampling), so it is their rights that count. */
static void find_counters(const char *root, struct gpu_facts *ret)
{
	long admin_only;

	if (!read_setting(root, "/proc/driver/nvidia/params",
			  "RmProfilingAdminOnly:", &admin_only)) {
		snprintf(ret->what, sizeof(ret->what), "%s",
			 "unknown: /proc/driver/nvidia/params does not say who may use them");
		return;
	}
	ret->ok = !admin_only;
	if (ret->ok) {
		snprintf(ret->what, sizeof(ret->what), "OK: any user's programs may use them");
		return;
	}
	snprintf(ret->what, sizeof(ret->what), "%s",
		 "the driver lets only programs with CAP_SYS_ADMIN use them (--pc-sampling)");
	snprintf(ret->hint, sizeof(ret->hint), "%s",
		 "load the module nvidia with NVreg_RestrictProfilingToAdminUsers=0");
}

static void find_attach(const char *root, bool may_ptrace, struct gpu_facts *ret)
{
	long scope;

	if (!read_setting(root, "/proc/sys/kernel/yama/ptrace_scope", "", &scope))
		scope = 0; /* a kernel without Yama */
	ret->ok = scope <= 0 || (may_ptrace && scope < 3);
	if (ret->ok)
		snprintf(ret->what, sizeof(ret->what), "OK: ptrace is allowed into %s",
			 may_ptrace ? "any process" : "processes of this user");
	else
		snprintf(ret->what, sizeof(ret->what), "kernel.yama.ptrace_scope is %ld: %s", scope,
			 scope >= 3 ? "no process may be entered"
				    : "processes that run already may not be entered");
	if (!ret->ok)
		snprintf(ret->hint, sizeof(ret->hint), "%s",
			 scope >= 3 ? "start programs with sprof record -- PROGRAM"
				    : "sudo sysctl kernel.yama.ptrace_scope=0");
}

void gpu_needs_of_host(const char *root, bool may_ptrace, struct gpu_facts ret[NR_GPU_NEEDS])
{
	memset(ret, 0, NR_GPU_NEEDS * sizeof(*ret));
	find_cupti(root, &ret[GPU_NEED_CUPTI]);
	find_counters(root, &ret[GPU_NEED_COUNTERS]);
	find_attach(root, may_ptrace, &ret[GPU_NEED_ATTACH]);
}
