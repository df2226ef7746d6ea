/*
 * Shared by the symbolizer's tests: a directory for files, frames in a file, and the names that
 * they got, written "outer>inner" with lines where they are known.
 */
#ifndef SPROF_TESTS_SYMBOL_FIXTURE_H
#define SPROF_TESTS_SYMBOL_FIXTURE_H

#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/profile/profile.h"
#include "symbolizer/symbolizer.h"

/* A descriptor of a file in memory with this text. */
static inline int text_fd(const char *text)
{
	int fd = memfd_create("text", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	lseek(fd, 0, SEEK_SET);
	return fd;
}

/* Runs a shell command that must succeed. */
static inline void __attribute__((format(printf, 1, 2))) shell(const char *format, ...)
{
	char *command;
	va_list ap;

	va_start(ap, format);
	assert_true(vasprintf(&command, format, ap) > 0);
	va_end(ap);
	if (system(command))
		fail_msg("failed: %s", command);
	free(command);
}

/* Says so if it is not. */
static inline bool is_installed(const char *program)
{
	char *command = xasprintf("command -v %s >/dev/null", program);
	int status = system(command);

	free(command);
	if (status)
		print_message("%s is not installed\n", program);
	return !status;
}

static inline void write_text(const char *dir, const char *name, const char *text)
{
	char *path = xasprintf("%s/%s", dir, name);
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	free(path);
}

/* A directory that cmocka's teardown removes. */
static inline int fixture_setup(void **state)
{
	char *dir = xstrdup("/tmp/sprof-symbols-XXXXXX");

	if (!mkdtemp(dir))
		return -1;
	*state = dir;
	return 0;
}

static inline int fixture_teardown(void **state)
{
	shell("rm -rf '%s'", (char *)*state);
	free(*state);
	return 0;
}

/* The module of an ELF file, identified by device and inode. */
static inline uint32_t file_module(struct profile *p, const char *path)
{
	struct profile_module module = { .kind = MODULE_ELF };
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	module.path = profile_cstring(p, path);
	module.dev = st.st_dev;
	module.ino = st.st_ino;
	return profile_module(p, &module);
}

/* Output of a command; the caller reads it and closes it with pclose(). */
static inline FILE *__attribute__((format(printf, 1, 2))) output_of(const char *format, ...)
{
	char *command;
	va_list ap;
	FILE *out;

	va_start(ap, format);
	assert_true(vasprintf(&command, format, ap) > 0);
	va_end(ap);
	out = popen(command, "r");
	assert_non_null(out);
	free(command);
	return out;
}

/* What to add to a link-time address of code to get its file offset, according to readelf. */
static inline uint64_t code_bias(const char *path)
{
	FILE *out =
		output_of("readelf -lW '%s' | awk '$1 == \"LOAD\" && / R E /{print $3, $2}'", path);
	unsigned long vaddr, offset;

	assert_int_equal(fscanf(out, "%lx %lx", &vaddr, &offset), 2);
	pclose(out);
	return offset - vaddr;
}

/* The link-time addresses of the start and the end of a symbol, according to nm. */
static inline uint64_t symbol_vaddr(const char *path, const char *symbol, uint64_t *ret_end)
{
	FILE *out = output_of("nm -S '%s' | awk '$NF == \"%s\" {print $1, NF == 4 ? $2 : 0}'", path,
			      symbol);
	unsigned long vaddr, size;

	if (fscanf(out, "%lx %lx", &vaddr, &size) != 2)
		fail_msg("no symbol %s in %s", symbol, path);
	pclose(out);
	if (ret_end)
		*ret_end = vaddr + size;
	return vaddr;
}

/* The file offset of the symbol. */
static inline uint64_t symbol_offset(const char *path, const char *symbol)
{
	return symbol_vaddr(path, symbol, NULL) + code_bias(path);
}

/* The path of a program of tests/targets. */
static inline const char *target(const char *name)
{
	const char *dir = getenv("TARGETS");
	static char path[4096];

	snprintf(path, sizeof(path), "%s/%s", dir ? dir : "build/tests/targets", name);
	return path;
}

/*
 * "a>b>c": the functions of a frame, outermost first; "" if it has none. Valid until the next call.
 */
static inline const char *frame_names(const struct profile *p, uint32_t frame)
{
	const struct profile_frame *f = &p->frames[frame];
	static char names[65536];

	names[0] = '\0';
	for (uint32_t i = 0; i < f->nr_locations; i++) {
		const struct profile_location *l = &p->locations[f->first_location + i];

		assert_int_equal(l->inlined, i > 0);
		snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s", i ? ">" : "",
			 profile_str(p, p->functions[l->function].name));
	}
	return names;
}

/* The same with lines: "a:12>b:7"; an unknown line is left out. */
static inline const char *frame_lines(const struct profile *p, uint32_t frame)
{
	const struct profile_frame *f = &p->frames[frame];
	static char names[65536];
	size_t at = 0;

	names[0] = '\0';
	for (uint32_t i = 0; i < f->nr_locations; i++) {
		const struct profile_location *l = &p->locations[f->first_location + i];

		at += (size_t)snprintf(names + at, sizeof(names) - at, "%s%s", i ? ">" : "",
				       profile_str(p, p->functions[l->function].name));
		if (l->line)
			at += (size_t)snprintf(names + at, sizeof(names) - at, ":%u", l->line);
		assert_true(at < sizeof(names));
	}
	return names;
}

#endif
