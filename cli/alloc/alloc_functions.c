/*
 * A process may map several mallocs, and its dynamic linker decides which one each module calls. So
 * every malloc is looked for, except where the program itself defines one: then all modules call
 * that.
 */
#include "cli/alloc/alloc_functions.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/untrusted/remote_read.h"
#include "sampler/alloc/alloc_names.h"
#include "sampler/alloc/allocations.h"
#include "sampler/target/open_mapped.h"
#include "sampler/target/proc_maps.h"
#include "symbolizer/confined_functions.h"

#define SEARCH_NS (10ull * 1000 * 1000 * 1000)
#define MAPPINGS_MAX 4096u
#define POLL_MS 100

/* An executable mapping of a file. */
struct text {
	uint64_t start, end, pgoff, ino;
	char *path;
	int fd; /* -1 once it has been searched */
	bool is_mapped;
};

struct alloc_finder {
	pid_t pid;
	unsigned int wanted; /* enum alloc_wanted */
	const struct sandbox *sandbox;
	struct text *texts;
	size_t nr_texts, texts_capacity;
	struct alloc_function *found;
	size_t nr, capacity;
	char program[PATH_MAX];
	bool program_has_malloc, is_later, has_unread;
};

struct alloc_finder *alloc_finder_new(pid_t pid, unsigned int wanted, const struct sandbox *sandbox)
{
	struct alloc_finder *f = xcalloc(1, sizeof(*f));
	ssize_t n = remote_read_link(pid, "exe", f->program, sizeof(f->program) - 1);

	f->program[n > 0 ? n : 0] = '\0';
	f->pid = pid;
	f->wanted = wanted;
	f->sandbox = sandbox;
	return f;
}

static void forget_found(struct alloc_finder *f)
{
	for (size_t i = 0; i < f->nr; i++) {
		free(f->found[i].name);
		free((char *)f->found[i].path);
	}
	f->nr = 0;
}

void alloc_finder_free(struct alloc_finder *f)
{
	if (!f)
		return;
	forget_found(f);
	for (size_t i = 0; i < f->nr_texts; i++) {
		free(f->texts[i].path);
		if (f->texts[i].fd >= 0)
			close(f->texts[i].fd);
	}
	free(f->texts);
	free(f->found);
	free(f);
}

bool alloc_finder_has_unread(const struct alloc_finder *f)
{
	return f->has_unread;
}

static struct text *find_text(const struct alloc_finder *f, const struct file_mapping *m)
{
	for (size_t i = 0; i < f->nr_texts; i++)
		if (f->texts[i].start == m->start && f->texts[i].end == m->end &&
		    f->texts[i].ino == m->ino)
			return &f->texts[i];
	return NULL;
}

/*
 * Is there anything to look for in the file? PyTorch's function is in libc10.so, or in a program
 * that is linked with it.
 */
static bool is_of_interest(const struct alloc_finder *f, const char *path)
{
	const char *name = strrchr(path, '/');

	return f->wanted & ALLOC_WANT_MALLOC || !strcmp(path, f->program) ||
	       (name && !strncmp(name, "/libc10", 7));
}

static void see_text(struct alloc_finder *f, const struct file_mapping *m)
{
	struct text *t = find_text(f, m);

	if (t)
		t->is_mapped = true;
	if (t || f->nr_texts == MAPPINGS_MAX)
		return;
	f->texts = xgrow(f->texts, &f->texts_capacity, f->nr_texts + 1, sizeof(*f->texts));
	f->texts[f->nr_texts++] = (struct text){
		.start = m->start,
		.end = m->end,
		.pgoff = m->pgoff,
		.ino = m->ino,
		.path = xstrdup(m->path),
		.fd = is_of_interest(f, m->path) ? open_mapped(m) : -1,
		.is_mapped = true,
	};
}

/* Forgets unmapped files: if one is mapped again, it has no hooks and is searched again. */
static void forget_unmapped(struct alloc_finder *f)
{
	size_t nr = 0;

	for (size_t i = 0; i < f->nr_texts; i++) {
		if (f->texts[i].is_mapped)
			f->texts[nr++] = f->texts[i];
		else
			free(f->texts[i].path);
	}
	f->nr_texts = nr;
}

static void read_texts(struct alloc_finder *f)
{
	FILE *maps = remote_open(f->pid, "maps");
	char *line = NULL;
	size_t size = 0;

	if (!maps)
		return;
	for (size_t i = 0; i < f->nr_texts; i++)
		f->texts[i].is_mapped = false;
	while (getline(&line, &size, maps) > 0) {
		struct file_mapping m = { .pid = f->pid };
		bool executable = false;

		if (proc_maps_parse(line, &m, &executable) && executable && m.ino &&
		    m.path[0] == '/')
			see_text(f, &m);
	}
	free(line);
	fclose(maps);
	forget_unmapped(f);
}

static bool is_pythons(unsigned int entry)
{
	return entry >= ALLOC_NAME_PYTHON_RAW;
}

static void add_function(struct alloc_finder *f, const struct text *text,
			 const struct named_function *function)
{
	const struct alloc_name *name = &alloc_names[function->glob];
	struct alloc_function *a;

	if (function->is_local || function->is_resolver || function->offset < text->pgoff ||
	    function->offset >= text->pgoff + (text->end - text->start))
		return;
	f->found = xgrow(f->found, &f->capacity, f->nr + 1, sizeof(*f->found));
	a = &f->found[f->nr];
	*a = (struct alloc_function){
		.entry = name->entry,
		.address = text->start + (function->offset - text->pgoff),
		.size = function->size,
		.text_start = text->start,
		.text_end = text->end,
		.is_main = !f->is_later,
	};
	if (pread(text->fd, a->file, sizeof(a->file), (off_t)function->offset) !=
	    (ssize_t)sizeof(a->file))
		return;
	a->name = xstrdup(name->name);
	a->path = xstrdup(text->path);
	f->nr++;
}

static void take(struct alloc_finder *f, const struct text *text,
		 const struct named_function *functions, size_t nr)
{
	bool has_malloc = false, is_wanted, is_program = !strcmp(text->path, f->program);

	for (size_t i = 0; i < nr; i++)
		has_malloc |= !functions[i].is_local && functions[i].glob == 0;
	f->program_has_malloc |= has_malloc && is_program;
	has_malloc &= is_program || !f->program_has_malloc;
	for (size_t i = 0; i < nr; i++) {
		unsigned int entry = alloc_names[functions[i].glob].entry;

		if (alloc_entry_is_tensor(entry))
			is_wanted = f->wanted & ALLOC_WANT_TENSORS;
		else
			is_wanted =
				f->wanted & ALLOC_WANT_MALLOC && (has_malloc || is_pythons(entry));
		if (is_wanted)
			add_function(f, text, &functions[i]);
	}
}

/* Waits for the child that reads the file, at most until `until_ns`. */
static int await(struct functions_search *search, uint64_t until_ns,
		 struct named_function **ret_functions, size_t *ret_nr)
{
	struct pollfd wanted = { functions_search_socket(search), POLLIN, 0 };
	int err;

	while ((err = functions_search_go_on(search, ret_functions, ret_nr)) == -EAGAIN) {
		if (monotonic_ns() > until_ns)
			return -ETIMEDOUT;
		poll(&wanted, 1, POLL_MS);
	}
	return err;
}

static void search(struct alloc_finder *f, const struct text *text, uint64_t until_ns)
{
	const char **globs = xcalloc(nr_alloc_names, sizeof(*globs));
	struct named_function *functions = NULL;
	struct functions_search *search;
	size_t nr = 0;
	int err;

	for (size_t i = 0; i < nr_alloc_names; i++)
		globs[i] = alloc_names[i].name;
	err = functions_search_start(f->sandbox, text->fd, f->pid, text->path, globs,
				     nr_alloc_names, &search);
	free(globs);
	if (!err) {
		err = await(search, until_ns, &functions, &nr);
		functions_search_free(search);
	}
	f->has_unread |= err == -ECHILD || err == -ETIMEDOUT || err == -EBADMSG;
	if (err)
		return;
	take(f, text, functions, nr);
	function_names_free(functions, nr);
}

size_t alloc_finder_look(struct alloc_finder *f, const struct alloc_function **ret_functions)
{
	uint64_t until = monotonic_ns() + SEARCH_NS;

	forget_found(f);
	read_texts(f);
	for (size_t i = 0; i < f->nr_texts; i++) {
		struct text *t = &f->texts[i];

		if (t->fd < 0)
			continue;
		search(f, t, until);
		close(t->fd);
		t->fd = -1;
	}
	f->is_later = true;
	*ret_functions = f->found;
	return f->nr;
}
