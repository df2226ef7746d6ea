/*
 * Looks at the ELF header, the program headers and the mode of the file, as the kernel and the
 * loader will.
 */
#include "sampler/timer/library.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"

static int open_program(const char *name)
{
	const char *path = getenv("PATH"), *end;
	int fd = -1;

	if (strchr(name, '/'))
		return open(name, O_RDONLY | O_CLOEXEC);
	for (path = path ? path : "/bin:/usr/bin"; path && fd < 0; path = *end ? end + 1 : NULL) {
		char *file;

		end = path + strcspn(path, ":");
		file = xasprintf("%.*s%s%s", (int)(end - path), path, end > path ? "/" : "", name);
		if (!access(file, X_OK))
			fd = open(file, O_RDONLY | O_CLOEXEC);
		free(file);
	}
	return fd;
}

/* Does the program name a loader (PT_INTERP)? 1: yes; 0: no; -1: it is not an ELF file. */
static int has_loader(int fd, Elf64_Ehdr *ehdr)
{
	if (pread(fd, ehdr, sizeof(*ehdr), 0) != sizeof(*ehdr) ||
	    memcmp(ehdr->e_ident, ELFMAG, SELFMAG))
		return -1;
	if (ehdr->e_ident[EI_CLASS] != ELFCLASS64 || ehdr->e_phentsize != sizeof(Elf64_Phdr))
		return 1;
	for (size_t i = 0; i < ehdr->e_phnum; i++) {
		Elf64_Phdr phdr;

		if (pread(fd, &phdr, sizeof(phdr), (off_t)(ehdr->e_phoff + i * sizeof(phdr))) !=
		    sizeof(phdr))
			break;
		if (phdr.p_type == PT_INTERP)
			return 1;
	}
	return 0;
}

bool timer_library_is_loaded_by(const char *program, char *why, size_t why_size)
{
	int fd = open_program(program), loader;
	Elf64_Ehdr ehdr = { 0 };
	struct stat st;
	bool good = true;

	if (fd < 0)
		return true; /* starting it will fail with the reason */
	loader = has_loader(fd, &ehdr);
	if (!loader) {
		snprintf(why, why_size, "it is linked statically and loads no library");
		good = false;
	} else if (loader > 0 &&
		   (ehdr.e_ident[EI_CLASS] != ELFCLASS64 || ehdr.e_machine != EM_X86_64)) {
		snprintf(why, why_size, "it is no x86-64 program");
		good = false;
	} else if (!fstat(fd, &st) && ((st.st_mode & S_ISUID && st.st_uid != getuid()) ||
				       (st.st_mode & S_ISGID && st.st_gid != getgid()))) {
		snprintf(why, why_size, "it runs with the rights of another user (setuid)");
		good = false;
	}
	close(fd);
	return good;
}

bool timer_library_is_static(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), loader;
	Elf64_Ehdr ehdr = { 0 };

	if (fd < 0)
		return false;
	loader = has_loader(fd, &ehdr);
	close(fd);
	return !loader;
}
