/*
 * libcupti is in a wheel, a conda environment, a toolkit or a folder of the system. All of these
 * are looked into, for the first one found may be the oldest. A file's name tells its CUDA version
 * only to the major number; between files of one name the number of exported functions decides,
 * since a CUPTI of the same major version never loses a function.
 *
 * A major version that the driver does not know is out. That of the CUDA runtime in this process is
 * preferred: if the program maps a libcupti of its own later, it is most likely this very file.
 */
#include "gpu/agent/cupti/library_choice.h"

#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gpu/agent/base/image.h"

#define MAX_ENTRIES 100000 /* of a folder */
#define MAX_PLACES 8

struct place {
	char path[LIBRARY_PATH_BYTES];
	size_t length;
};

struct search {
	uint32_t driver_major, runtime_major;
	uint64_t rank; /* of the best one so far, 0 = none */
	char best[LIBRARY_PATH_BYTES];
	/* what the images in this process tell */
	struct place packages[MAX_PLACES], runtimes[MAX_PLACES];
	uint32_t nr_packages, nr_runtimes;
};

/* The number of dynamic symbols of an ELF file; 0 where it cannot be read or is no library. */
static uint32_t nr_symbols(const char *path)
{
	struct statx st; /* not stat(): before glibc 2.33 it had another name */
	uint32_t nr = 0;
	ElfW(Ehdr) head;
	ElfW(Shdr) section;
	int fd;

	if (statx(AT_FDCWD, path, 0, STATX_TYPE, &st) || !S_ISREG(st.stx_mode))
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return 0;
	if (pread(fd, &head, sizeof(head), 0) == sizeof(head) &&
	    !memcmp(head.e_ident, ELFMAG, SELFMAG) && head.e_shentsize == sizeof(section))
		for (uint32_t i = 0; i < head.e_shnum; i++) {
			off_t at = (off_t)(head.e_shoff + i * sizeof(section));

			if (pread(fd, &section, sizeof(section), at) != sizeof(section))
				break;
			if (section.sh_type == SHT_DYNSYM)
				nr = (uint32_t)(section.sh_size / sizeof(ElfW(Sym)));
		}
	close(fd);
	return nr;
}

/* Joins two parts of a path. False if the result is too long. */
static bool join(char to[LIBRARY_PATH_BYTES], const char *folder, size_t length, const char *rest)
{
	size_t rest_length = strlen(rest);

	if (length + 1 + rest_length >= LIBRARY_PATH_BYTES)
		return false;
	memcpy(to, folder, length);
	to[length] = '/';
	memcpy(to + length + 1, rest, rest_length + 1);
	return true;
}

/* Ranks a file called libcupti.so.MAJOR or libcupti.so.11.MINOR; links of other names are left. */
static void consider(struct search *s, const char *folder, const char *name)
{
	char path[LIBRARY_PATH_BYTES], *end;
	unsigned long major = strtoul(name + strlen("libcupti.so."), &end, 10), minor = 0;
	uint32_t symbols;
	uint64_t rank;

	if (*end == '.')
		minor = strtoul(end + 1, &end, 10);
	if (*end || major < 10 || major > 99 || minor > 99 ||
	    (s->driver_major && major > s->driver_major) ||
	    !join(path, folder, strlen(folder), name))
		return;
	symbols = nr_symbols(path);
	rank = (uint64_t)(major == s->runtime_major) << 56 | (uint64_t)major << 48 |
	       (uint64_t)minor << 40 | symbols;
	if (!symbols || rank <= s->rank)
		return;
	s->rank = rank;
	memcpy(s->best, path, sizeof(path));
}

static void look_in(struct search *s, const char *folder)
{
	DIR *dir = opendir(folder);
	const struct dirent *e;

	if (!dir)
		return;
	for (int i = 0; i < MAX_ENTRIES && (e = readdir(dir)); i++)
		if (!strncmp(e->d_name, "libcupti.so.", strlen("libcupti.so.")))
			consider(s, folder, e->d_name);
	closedir(dir);
}

static void look_below(struct search *s, const char *folder, size_t length, const char *rest)
{
	char path[LIBRARY_PATH_BYTES];

	if (length && join(path, folder, length, rest))
		look_in(s, path);
}

/* NVIDIA's wheels: nvidia/cuda_cupti of CUDA 11 and 12, nvidia/cu13 and its successors. */
static void look_in_packages(struct search *s, const char *packages, size_t length)
{
	char path[LIBRARY_PATH_BYTES];
	const struct dirent *e;
	DIR *dir = join(path, packages, length, "nvidia") ? opendir(path) : NULL;

	if (!dir)
		return;
	for (int i = 0; i < MAX_ENTRIES && (e = readdir(dir)); i++) {
		char lib[LIBRARY_PATH_BYTES], wheel[LIBRARY_PATH_BYTES];

		if (!strncmp(e->d_name, "cu", 2) && join(wheel, path, strlen(path), e->d_name) &&
		    join(lib, wheel, strlen(wheel), "lib"))
			look_in(s, lib);
	}
	closedir(dir);
}

/* An environment of conda or venv: its lib, and its packages of each Python version. */
static void look_in_environment(struct search *s, const char *root, size_t length)
{
	char lib[LIBRARY_PATH_BYTES], path[LIBRARY_PATH_BYTES];
	const struct dirent *e;
	DIR *dir = join(lib, root, length, "lib") ? opendir(lib) : NULL;

	if (!dir)
		return;
	look_in(s, lib);
	for (int i = 0; i < MAX_ENTRIES && (e = readdir(dir)); i++) {
		if (strncmp(e->d_name, "python3", strlen("python3")) != 0 ||
		    !join(path, lib, strlen(lib), e->d_name))
			continue;
		for (int dist = 0; dist < 2; dist++) {
			char packages[LIBRARY_PATH_BYTES];

			if (join(packages, path, strlen(path),
				 dist ? "dist-packages" : "site-packages"))
				look_in_packages(s, packages, strlen(packages));
		}
	}
	closedir(dir);
}

static void look_in_toolkit(struct search *s, const char *root)
{
	look_below(s, root, strlen(root), "lib64");
	look_below(s, root, strlen(root), "extras/CUPTI/lib64");
}

static void look_in_toolkits(struct search *s)
{
	static const char folder[] = "/usr/local";
	DIR *dir = opendir(folder);
	char path[LIBRARY_PATH_BYTES];
	const struct dirent *e;

	for (int i = 0; dir && i < MAX_ENTRIES && (e = readdir(dir)); i++)
		if (!strncmp(e->d_name, "cuda", 4) && join(path, folder, strlen(folder), e->d_name))
			look_in_toolkit(s, path);
	if (dir)
		closedir(dir);
}

/* Each folder of a list with colons. */
static void look_in_list(struct search *s, const char *list,
			 void (*look)(struct search *, const char *, size_t))
{
	for (; list && *list; list += *list == ':') {
		size_t length = strcspn(list, ":");

		if (length && *list == '/')
			look(s, list, length);
		list += length;
	}
}

static void look_in_part(struct search *s, const char *folder, size_t length)
{
	look_below(s, folder, length, "");
}

static bool starts(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

static void add_place(struct place *places, uint32_t *nr, const char *path, size_t length)
{
	for (uint32_t i = 0; i < *nr; i++)
		if (places[i].length == length && !memcmp(places[i].path, path, length))
			return;
	if (*nr == MAX_PLACES || length >= LIBRARY_PATH_BYTES)
		return;
	memcpy(places[*nr].path, path, length);
	places[(*nr)++].length = length;
}

/* Notes where this image comes from, if that is a folder of packages or the CUDA runtime's. */
static int note_place(struct dl_phdr_info *info, size_t size, void *arg)
{
	static const char *const kinds[] = { "/site-packages/", "/dist-packages/" };
	const char *path = info->dlpi_name, *slash = strrchr(path, '/');
	struct search *s = arg;

	(void)size;
	if (*path != '/')
		return 0;
	for (int i = 0; i < 2; i++) {
		const char *at = strstr(path, kinds[i]);

		if (at)
			add_place(s->packages, &s->nr_packages, path,
				  (size_t)(at - path) + strlen(kinds[i]) - 1);
	}
	if (starts(slash, "/libcudart.so."))
		s->runtime_major = (uint32_t)strtoul(slash + strlen("/libcudart.so."), NULL, 10);
	if (starts(slash, "/libcudart.so.") || starts(slash, "/libcudart-") ||
	    starts(slash, "/libcublas.so.") || starts(slash, "/libnvrtc.so."))
		add_place(s->runtimes, &s->nr_runtimes, path, (size_t)(slash - path));
	return 0;
}

static void look_near_images(struct search *s)
{
	for (uint32_t i = 0; i < s->nr_packages; i++)
		look_in_packages(s, s->packages[i].path, s->packages[i].length);
	for (uint32_t i = 0; i < s->nr_runtimes; i++) {
		const struct place *p = &s->runtimes[i];

		look_in_part(s, p->path, p->length);
		look_below(s, p->path, p->length, "../../cuda_cupti/lib");
		look_below(s, p->path, p->length, "../extras/CUPTI/lib64");
	}
}

static void look_near_program(struct search *s)
{
	char own[LIBRARY_PATH_BYTES];
	ssize_t length = readlink("/proc/self/exe", own, sizeof(own));

	for (int up = 0; up < 2; up++) /* ROOT/bin/python3 */
		while (length > 0 && own[--length] != '/')
			;
	if (length > 0)
		look_in_environment(s, own, (size_t)length);
}

static void look_where_told(struct search *s)
{
	static const char *const toolkits[] = { "CUDA_HOME", "CUDA_PATH" };
	static const char *const environments[] = { "VIRTUAL_ENV", "CONDA_PREFIX" };

	for (size_t i = 0; i < 2; i++) {
		look_in_list(s, getenv(environments[i]), look_in_environment);
		if (getenv(toolkits[i]))
			look_in_toolkit(s, getenv(toolkits[i]));
	}
	look_in_list(s, getenv("PYTHONPATH"), look_in_packages);
	look_in_list(s, getenv("LD_LIBRARY_PATH"), look_in_part);
}

bool library_choose(uint32_t driver_version, char ret_path[LIBRARY_PATH_BYTES])
{
	static const char *const system_folders[] = {
		"/usr/lib/x86_64-linux-gnu",
		"/usr/lib/aarch64-linux-gnu",
		"/usr/lib64",
		"/usr/lib",
		"/opt/cuda/lib64",
		"/opt/cuda/extras/CUPTI/lib64",
	};
	static struct search s; /* too large for a small stack; the agent's lock protects it */

	memset(&s, 0, sizeof(s));
	s.driver_major = driver_version / 1000;
	/* noted first and looked into later: the loader's lock is held meanwhile */
	dl_iterate_phdr(note_place, &s);
	look_near_images(&s);
	look_where_told(&s);
	look_near_program(&s);
	look_in_toolkits(&s);
	for (size_t i = 0; i < sizeof(system_folders) / sizeof(system_folders[0]); i++)
		look_in(&s, system_folders[i]);
	if (s.rank)
		memcpy(ret_path, s.best, LIBRARY_PATH_BYTES);
	return s.rank != 0;
}
