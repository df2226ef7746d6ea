/*
 * Lines come in the order of addresses, so a file's mapping and a copy of its text in anonymous
 * memory are neighbours.
 */
#include "sampler/target/proc_maps.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "core/base/alloc.h"
#include "core/base/proc_status.h"
#include "core/untrusted/remote_read.h"
#include "sampler/target/remapped_text.h"

enum mapping_backing mapping_backing(const char *path, uint64_t ino)
{
	if (!strcmp(path, "[vdso]"))
		return BACKING_VDSO;
	if (!strcmp(path, "[vsyscall]") || !strcmp(path, "[uprobes]"))
		return BACKING_IGNORED;
	if (!ino || path[0] != '/' || !strncmp(path, "//anon", 6) ||
	    !strncmp(path, "/dev/zero", 9) || !strncmp(path, "/anon_hugepage", 14) ||
	    !strncmp(path, "/SYSV", 5))
		return BACKING_RUNTIME;
	if (!strncmp(path, "/memfd:", 7))
		return BACKING_MEMFD;
	return BACKING_FILE;
}

bool mapping_is_stack(const char *path)
{
	return !strcmp(path, "[stack]");
}

static unsigned int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned int)(c - '0');
	return c >= 'a' && c <= 'f' ? (unsigned int)(c - 'a') + 10 : UINT_MAX;
}

/* Takes a number that ends with `end`, or with the line where that is a blank. */
static bool take_number(char **at, unsigned int base, char end, uint64_t *ret)
{
	char *p = *at;
	uint64_t n = 0;

	for (; digit_of(*p) < base; p++) {
		if (n > (UINT64_MAX - digit_of(*p)) / base)
			return false;
		n = n * base + digit_of(*p);
	}
	if (p == *at || (*p != end && (*p || end != ' ')))
		return false;
	*at = p + (*p == end);
	*ret = n;
	return true;
}

/* By hand: sscanf() takes 0.7 us for a line, this 0.15 us, and thousands of processes have many. */
bool proc_maps_parse(char *line, struct file_mapping *m, bool *ret_executable)
{
	uint64_t start, end, pgoff, ino, major, minor;
	const char *permissions;
	char *at = line;

	line[strcspn(line, "\n")] = '\0';
	if (!take_number(&at, 16, '-', &start) || !take_number(&at, 16, ' ', &end) || end <= start)
		return false;
	permissions = at;
	if (strcspn(at, " ") != 4 || at[4] != ' ')
		return false;
	at += 5;
	if (!take_number(&at, 16, ' ', &pgoff) || !take_number(&at, 16, ':', &major) ||
	    !take_number(&at, 16, ' ', &minor) || !take_number(&at, 10, ' ', &ino) ||
	    major > UINT_MAX || minor > UINT_MAX)
		return false;
	*ret_executable = permissions[2] == 'x';
	m->start = start;
	m->end = end;
	m->pgoff = pgoff;
	m->dev = makedev((unsigned int)major, (unsigned int)minor);
	m->ino = ino;
	m->path = at + strspn(at, " ");
	return true;
}

struct mapped_file *mapping_code(struct file_table *files, const struct file_mapping *m,
				 pid_t process, bool *ret_new)
{
	switch (mapping_backing(m->path, m->ino)) {
	case BACKING_FILE: return file_table_add(files, m, ret_new);
	case BACKING_MEMFD: return file_table_add_memfd(files, m, process, ret_new);
	case BACKING_VDSO: return file_table_add_vdso(files, ret_new);
	case BACKING_RUNTIME: return file_table_add_runtime(files, process, m->user, ret_new);
	default: return NULL;
	}
}

struct maps_reader {
	struct file_table *files;
	void (*on_file)(void *context, struct mapped_file *file);
	void *context;
	struct file_mapping before; /* of the line before; path NULL: no file */
	char *before_path;
};

/*
 * A copy of text that was made earlier: the file's own mapping ends where the anonymous one begins.
 */
static void find_copied_text(const struct maps_reader *r, struct mapping *m)
{
	const struct file_mapping *before = &r->before;
	uint64_t pgoff = before->pgoff + (m->start - before->start);
	struct mapped_file *file;
	bool is_new;

	if (before->end != m->start || !before->path)
		return;
	file = file_table_add(r->files, before, &is_new);
	if (is_new)
		r->on_file(r->context, file);
	if (remapped_text_matches(before->pid, file, m->start, m->end, pgoff)) {
		m->code = file;
		m->pgoff = pgoff;
	}
}

/* Adds a mapping to the process. */
static void add_mapping(struct maps_reader *r, struct process *to, const struct file_mapping *m)
{
	struct mapping mapping = {
		.start = m->start,
		.end = m->end,
		.pgoff = m->pgoff,
		.stack = mapping_is_stack(m->path),
	};
	bool is_new = false;

	mapping.code = mapping_code(r->files, m, to->pid, &is_new);
	if (!mapping.code)
		return;
	if (is_new)
		r->on_file(r->context, mapping.code);
	if (mapping.code->kind == MODULE_JIT)
		find_copied_text(r, &mapping);
	process_map(to, &mapping);
}

/* Keeps a mapping for the next line. */
static void remember(struct maps_reader *r, const struct file_mapping *m)
{
	free(r->before_path);
	r->before_path = NULL;
	r->before = *m;
	if (mapping_backing(m->path, m->ino) == BACKING_FILE)
		r->before_path = xstrdup(m->path);
	r->before.path = r->before_path;
}

/* Adds the mappings of a maps file. Returns its number of lines, or -errno. */
static int read_file(struct maps_reader *r, struct process *p, pid_t thread)
{
	FILE *f = remote_open(thread, "maps");
	char *line = NULL;
	size_t size = 0;
	int nr_lines = 0;

	if (!f)
		return errno == ENOENT ? -ESRCH : -errno;
	while (getline(&line, &size, f) > 0) {
		struct file_mapping m = { .pid = thread, .user = p->user };
		bool executable = false;

		if (!proc_maps_parse(line, &m, &executable))
			continue;
		nr_lines++;
		if (executable)
			add_mapping(r, p, &m);
		remember(r, &m);
	}
	free(r->before_path);
	r->before_path = NULL;
	r->before = (struct file_mapping){ 0 };
	free(line);
	fclose(f);
	return nr_lines;
}

/* After the first thread has ended, only the other threads show the mappings. */
static int read_through_threads(struct maps_reader *r, struct process *p)
{
	DIR *threads = proc_threads(p->pid);
	int nr = threads ? 0 : -ESRCH;
	pid_t thread;

	while (nr <= 0 && (thread = proc_next(threads)))
		if (thread != p->pid)
			nr = read_file(r, p, thread);
	proc_close(threads);
	return nr;
}

int process_read_maps(struct process *p, struct file_table *files,
		      void (*on_file)(void *context, struct mapped_file *file), void *context)
{
	struct maps_reader r = { .files = files, .on_file = on_file, .context = context };
	struct proc_status status;
	int nr = read_file(&r, p, p->pid);

	if (!nr && !proc_status_read(p->pid, &status)) {
		if (status.ended && status.nr_threads > 1)
			nr = read_through_threads(&r, p);
		else if (!status.ended && !status.has_memory)
			return 0; /* a kernel thread has no mappings */
	}
	return nr > 0 ? 0 : nr < 0 ? nr : -ESRCH;
}
