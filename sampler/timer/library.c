/*
 * Looks at the ELF header, the program headers and the mode of the file, as the kernel and the
 * loader will.
 */
#include "sampler/timer/library.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/elf_headers.h"
#include "core/rights/safe_open.h"
#include "core/rights/privileges.h"

static int open_program(const char *name)
{
	const char *path = getenv("PATH"), *end;
	int fd = -1;

	if (strchr(name, '/'))
		return safe_open(name, SAFE_OPEN_ELF_MAX);
	for (path = path ? path : "/bin:/usr/bin"; path && fd < 0; path = *end ? end + 1 : NULL) {
		char *file;

		end = path + strcspn(path, ":");
		file = xasprintf("%.*s%s%s", (int)(end - path), path, end > path ? "/" : "", name);
		if (!access(file, X_OK))
			fd = safe_open(file, SAFE_OPEN_ELF_MAX);
		free(file);
	}
	return fd;
}

enum program_kind {
	PROGRAM_OTHER,	 /* not an ELF file: a script */
	PROGRAM_FOREIGN, /* an ELF file that is not for x86-64 */
	PROGRAM_STATIC,	 /* names no dynamic linker, so it loads no library */
	PROGRAM_DYNAMIC,
};

static enum program_kind program_kind(int fd)
{
	enum program_kind kind = PROGRAM_STATIC;
	struct elf_headers headers;
	struct elf_source source;
	int err = elf_source_of_file(fd, &source);

	if (!err)
		err = elf_headers_read(&source, &headers);
	if (err)
		return err == -ENOTSUP ? PROGRAM_FOREIGN : PROGRAM_OTHER;
	for (size_t i = 0; i < headers.nr_segments; i++)
		if (headers.segments[i].p_type == PT_INTERP)
			kind = PROGRAM_DYNAMIC;
	if (kind == PROGRAM_DYNAMIC && headers.machine != ELF_OWN_MACHINE)
		kind = PROGRAM_FOREIGN;
	elf_headers_fini(&headers);
	return kind;
}

/* Gives the file its program rights that the user lacks? Then the loader obeys no environment. */
static bool gives_rights(int fd, const char **ret_how)
{
	bool is_root = !getuid();
	struct stat st;

	if (!fstat(fd, &st) && ((st.st_mode & S_ISUID && st.st_uid != getuid()) ||
				(st.st_mode & S_ISGID && st.st_gid != getgid()))) {
		*ret_how = "it runs with the rights of another user (setuid)";
		return true;
	}
	*ret_how = "its file gives it capabilities (setcap)";
	return !is_root && fgetxattr(fd, "security.capability", NULL, 0) > 0;
}

bool timer_library_is_loaded_by(const char *program, char *why, size_t why_size)
{
	enum rights before = privileges_use(RIGHTS_OF_CALLER);
	int fd = open_program(program);
	enum program_kind kind;
	const char *how;
	bool good = true;

	privileges_use(before);
	if (fd < 0)
		return true; /* starting it will fail with the reason */
	kind = program_kind(fd);
	if (kind == PROGRAM_STATIC) {
		snprintf(why, why_size, "it is linked statically and loads no library");
		good = false;
	} else if (kind == PROGRAM_FOREIGN) {
		snprintf(why, why_size, "it is no x86-64 program");
		good = false;
	} else if (gives_rights(fd, &how)) {
		snprintf(why, why_size, "%s", how);
		good = false;
	}
	close(fd);
	return good;
}

bool timer_library_is_static(const char *path)
{
	int fd = safe_open(path, SAFE_OPEN_ELF_MAX);
	enum program_kind kind;

	if (fd < 0)
		return false;
	kind = program_kind(fd);
	close(fd);
	return kind == PROGRAM_STATIC;
}
