/*
 * The NVIDIA driver shows as /proc/driver/nvidia and as device files; a container may have the
 * first without the second. libcuda and libcupti belong to the recorded program, so they are looked
 * for among the files that a process has mapped, not on the host.
 */
#include "cli/info/gpu_facts.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/info/gpu_needs.h"
#include "core/base/alloc.h"

#define MAX_LINES 1000000

static bool exists(const char *root, const char *path, int mode)
{
	char *whole = xasprintf("%s%s", root, path);
	bool found = !access(whole, mode);

	free(whole);
	return found;
}

/*
 * Opens /dev/nvidiactl as the driver's libraries do. -ENXIO: the file exists without the driver;
 * libcuda creates it where it may.
 */
static int open_control(const char *root)
{
	char *path = xasprintf("%s/dev/nvidiactl", root);
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK), err = fd < 0 ? -errno : 0;

	free(path);
	if (fd >= 0)
		close(fd);
	return err;
}

/* The number of files /dev/nvidia0, /dev/nvidia1, ... */
static unsigned int count_devices(const char *root)
{
	char *path = xasprintf("%s/dev", root);
	DIR *dir = opendir(path);
	const struct dirent *e;
	unsigned int nr = 0;

	free(path);
	while (dir && (e = readdir(dir)))
		nr += !strncmp(e->d_name, "nvidia", 6) && isdigit((unsigned char)e->d_name[6]);
	if (dir)
		closedir(dir);
	return nr;
}

static bool has_libcuda(const char *root)
{
	static const char *const folders[] = { "/usr/lib/x86_64-linux-gnu",
					       "/usr/lib/aarch64-linux-gnu",
					       "/usr/lib64",
					       "/usr/lib",
					       "/lib64",
					       "/lib/x86_64-linux-gnu",
					       "/usr/local/nvidia/lib64",
					       "/usr/local/cuda/compat",
					       "/usr/lib/wsl/lib",
					       "/run/opengl-driver/lib" };
	bool found = false;

	for (size_t i = 0; !found && i < sizeof(folders) / sizeof(*folders); i++) {
		char *path = xasprintf("%s/libcuda.so.1", folders[i]);

		found = exists(root, path, R_OK);
		free(path);
	}
	return found;
}

static void say(struct gpu_facts *f, const char *what, const char *hint)
{
	f->ok = false;
	snprintf(f->what, sizeof(f->what), "%s", what);
	snprintf(f->hint, sizeof(f->hint), "%s", hint);
}

static void say_it_works(const char *root, struct gpu_facts *f)
{
	unsigned int nr = count_devices(root);
	char version[64] = "of unknown version";

	gpu_needs_driver_version(root, version, sizeof(version));
	f->ok = true;
	if (exists(root, "/dev/dxg", F_OK))
		snprintf(f->what, sizeof(f->what), "OK: the driver of Windows, by /dev/dxg%s",
			 has_libcuda(root) ? "" : "; libcuda.so.1 is in no usual folder");
	else
		snprintf(f->what, sizeof(f->what), "OK: driver %s, %u GPU%s%s", version, nr,
			 nr == 1 ? "" : "s",
			 has_libcuda(root) ? "" : "; libcuda.so.1 is in no usual folder");
}

void gpu_facts_of_host(const char *root, bool has_library, struct gpu_facts *ret)
{
	bool windows = exists(root, "/dev/dxg", F_OK);
	int err = windows ? 0 : open_control(root);

	*ret = (struct gpu_facts){ 0 };
	if (!has_library)
		say(ret, "libsprof-gpu.so is not beside sprof, nor in ../lib/sprof",
		    "make install");
	else if (err == -ENOENT && exists(root, "/proc/driver/nvidia/version", F_OK))
		say(ret, "NVIDIA's driver is loaded, but there is no /dev/nvidiactl here",
		    "give the container its GPUs, for instance docker run --gpus all");
	else if (err == -ENOENT || err == -ENXIO || err == -ENODEV)
		say(ret, "no driver of NVIDIA is loaded; NVTX ranges are recorded all the same",
		    "");
	else if (err)
		say(ret, "this user may not open /dev/nvidiactl",
		    "add the user to the group that owns it: ls -l /dev/nvidiactl");
	else if (!windows && !count_devices(root))
		say(ret, "NVIDIA's driver is loaded, but there is no /dev/nvidia0",
		    "nvidia-smi says whether the driver found a GPU");
	else
		say_it_works(root, ret);
}

struct mapped {
	bool agent, cuda;
	unsigned int nr_cupti;
	char cupti[256]; /* the path of the first libcupti */
};

static void look_at_path(struct mapped *m, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	m->agent |= !strncmp(name, "libsprof-gpu.so", strlen("libsprof-gpu.so"));
	m->cuda |= !strncmp(name, "libcuda.so", strlen("libcuda.so"));
	if (strncmp(name, "libcupti.so", strlen("libcupti.so")) != 0 || !strcmp(m->cupti, path))
		return;
	if (!m->nr_cupti++)
		snprintf(m->cupti, sizeof(m->cupti), "%s", path);
}

static bool read_maps(const char *root, pid_t pid, struct mapped *ret)
{
	char *path = xasprintf("/proc/%d/maps", (int)pid);
	FILE *f = gpu_needs_open(root, path);
	size_t size = 0;
	char *line = NULL;

	*ret = (struct mapped){ 0 };
	free(path);
	for (int i = 0; f && i < MAX_LINES && getline(&line, &size, f) > 0; i++) {
		char *file = strchr(line, '/');

		if (file)
			file[strcspn(file, "\n")] = '\0';
		if (file)
			look_at_path(ret, file);
	}
	free(line);
	if (f)
		fclose(f);
	return f != NULL;
}

void gpu_facts_of_process(const char *root, pid_t pid, bool can_inject, const char *why_not,
			  struct gpu_facts *ret)
{
	unsigned int of_driver, of_cupti;
	struct mapped m;
	char cupti[400];

	*ret = (struct gpu_facts){ 0 };
	if (!read_maps(root, pid, &m)) {
		say(ret, "its mapped files cannot be read", "");
		return;
	}
	of_driver = gpu_needs_cuda_of_driver(root);
	of_cupti = m.nr_cupti ? gpu_needs_cuda_of_cupti(strrchr(m.cupti, '/') + 1) : 0;
	if (of_driver && of_cupti > of_driver) {
		snprintf(ret->what, sizeof(ret->what),
			 "%s is of CUDA %u, the driver of CUDA %u: no GPU data", m.cupti, of_cupti,
			 of_driver);
		snprintf(ret->hint, sizeof(ret->hint), "install a build of the program for CUDA %u",
			 of_driver);
		return;
	}
	if (m.nr_cupti)
		snprintf(cupti, sizeof(cupti), "libcupti is %s", m.cupti);
	else
		snprintf(cupti, sizeof(cupti), "%s",
			 "no libcupti is mapped: the newest that the driver takes is loaded");
	ret->ok = m.agent || (m.cuda && can_inject);
	if (m.agent)
		snprintf(ret->what, sizeof(ret->what), "OK: libsprof-gpu.so is loaded; %s", cupti);
	else if (m.cuda && can_inject)
		snprintf(ret->what, sizeof(ret->what),
			 "OK: libsprof-gpu.so can be loaded by ptrace; %s", cupti);
	else if (m.cuda)
		say(ret, why_not, "start it with CUDA_INJECTION64_PATH=libsprof-gpu.so");
	else
		say(ret, "CUDA is not in use: no libcuda.so is mapped",
		    "start it with CUDA_INJECTION64_PATH=libsprof-gpu.so, to be ready when it is");
}
