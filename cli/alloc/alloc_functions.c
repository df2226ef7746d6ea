/*
 * Which module's malloc the program calls is decided by its dynamic linker; here every module that
 * defines one is hooked, as an allocation is counted where it is made.
 */
#include "cli/alloc/alloc_functions.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/untrusted/remote_read.h"
#include "sampler/alloc/allocations.h"
#include "sampler/target/open_mapped.h"
#include "sampler/target/proc_maps.h"
#include "symbolizer/confined_functions.h"

#define SEARCH_NS (10ull * 1000 * 1000 * 1000)
#define MAPPINGS_MAX 1024u
#define POLL_MS 100
/* Not hooked, but worth a warning. */
#define ENTRY_OPERATOR_NEW NR_ALLOC_ENTRIES
#define ENTRY_PYTHON (NR_ALLOC_ENTRIES + 1)

static const struct {
	const char *name;
	enum alloc_entry entry;
} names[] = {
	{ "malloc", ALLOC_MALLOC },
	{ "free", ALLOC_FREE },
	{ "calloc", ALLOC_CALLOC },
	{ "realloc", ALLOC_REALLOC },
	{ "memalign", ALLOC_ALIGNED },
	{ "aligned_alloc", ALLOC_ALIGNED },
	{ "posix_memalign", ALLOC_POSIX_ALIGNED },
	{ "valloc", ALLOC_MALLOC },
	{ "pvalloc", ALLOC_MALLOC },
	{ "cfree", ALLOC_FREE },
	/* An operator new beside malloc does not go through it: jemalloc, tcmalloc. */
	{ "_Znwm", ENTRY_OPERATOR_NEW },
	/* It takes small objects from pools of its own. */
	{ "PyObject_Malloc", ENTRY_PYTHON },
};
#define NR_NAMES (sizeof(names) / sizeof(*names))

/* An executable mapping of a file. */
struct text {
	uint64_t start, end, pgoff;
	char *path;
	int fd;
};

struct finder {
	pid_t pid;
	struct text *texts;
	size_t nr_texts, texts_capacity;
	struct alloc_function *found;
	size_t nr, capacity;
	bool own_operator_new, has_python, unread;
};

static void add_text(struct finder *f, const struct file_mapping *m)
{
	if (f->nr_texts == MAPPINGS_MAX)
		return;
	f->texts = xgrow(f->texts, &f->texts_capacity, f->nr_texts + 1, sizeof(*f->texts));
	f->texts[f->nr_texts++] = (struct text){
		.start = m->start,
		.end = m->end,
		.pgoff = m->pgoff,
		.path = xstrdup(m->path),
		.fd = open_mapped(m),
	};
}

static void read_texts(struct finder *f)
{
	FILE *maps = remote_open(f->pid, "maps");
	char *line = NULL;
	size_t size = 0;

	while (maps && getline(&line, &size, maps) > 0) {
		struct file_mapping m = { .pid = f->pid };
		bool executable = false;

		if (proc_maps_parse(line, &m, &executable) && executable && m.ino &&
		    m.path[0] == '/')
			add_text(f, &m);
	}
	free(line);
	if (maps)
		fclose(maps);
}

static void add_function(struct finder *f, const struct text *text,
			 const struct named_function *function)
{
	struct alloc_function *a;

	if (function->is_local || function->is_resolver || function->offset < text->pgoff ||
	    function->offset >= text->pgoff + (text->end - text->start))
		return;
	if (names[function->glob].entry == ENTRY_PYTHON)
		return;
	if (names[function->glob].entry == ENTRY_OPERATOR_NEW) {
		f->own_operator_new = true;
		return;
	}
	f->found = xgrow(f->found, &f->capacity, f->nr + 1, sizeof(*f->found));
	a = &f->found[f->nr];
	*a = (struct alloc_function){
		.path = text->path,
		.entry = names[function->glob].entry,
		.address = text->start + (function->offset - text->pgoff),
		.size = function->size,
		.text_start = text->start,
		.text_end = text->end,
		.is_main = true,
	};
	if (pread(text->fd, a->file, sizeof(a->file), (off_t)function->offset) !=
	    (ssize_t)sizeof(a->file))
		return;
	a->name = xstrdup(names[function->glob].name);
	a->path = xstrdup(text->path);
	f->nr++;
}

static void take(struct finder *f, const struct text *text, const struct named_function *functions,
		 size_t nr)
{
	bool defines_malloc = false;

	for (size_t i = 0; i < nr; i++) {
		defines_malloc |= !functions[i].is_local && functions[i].glob == 0;
		f->has_python |= names[functions[i].glob].entry == ENTRY_PYTHON;
	}
	for (size_t i = 0; defines_malloc && i < nr; i++)
		add_function(f, text, &functions[i]);
}

/* Waits for the child that reads the file, at most until then. */
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

static void search(struct finder *f, const struct sandbox *sandbox, const struct text *text,
		   uint64_t until_ns)
{
	const char *globs[NR_NAMES];
	struct named_function *functions = NULL;
	struct functions_search *search;
	size_t nr = 0;
	int err;

	for (size_t i = 0; i < NR_NAMES; i++)
		globs[i] = names[i].name;
	err = functions_search_start(sandbox, text->fd, f->pid, text->path, globs, NR_NAMES,
				     &search);
	if (!err) {
		err = await(search, until_ns, &functions, &nr);
		functions_search_free(search);
	}
	f->unread |= err == -ECHILD || err == -ETIMEDOUT || err == -EBADMSG;
	if (err)
		return;
	take(f, text, functions, nr);
	function_names_free(functions, nr);
}

static char *note(const struct finder *f)
{
	if (f->unread)
		return xstrdup("some of its files could not be read: allocation functions in them "
			       "are not counted");
	if (f->has_python)
		return xstrdup("Python takes objects of up to 512 bytes from pools of its own: "
			       "they are not counted, nor are Python frames shown");
	if (f->own_operator_new)
		return xstrdup("its allocator has an operator new of its own, which is not "
			       "counted: only malloc and its kin are");
	return NULL;
}

void alloc_functions_find(pid_t pid, const struct sandbox *sandbox,
			  struct alloc_function **ret_functions, size_t *ret_nr, char **ret_note)
{
	uint64_t until = monotonic_ns() + SEARCH_NS;
	struct finder f = { .pid = pid };

	read_texts(&f);
	for (size_t i = 0; i < f.nr_texts; i++)
		if (f.texts[i].fd >= 0)
			search(&f, sandbox, &f.texts[i], until);
	*ret_note = note(&f);
	for (size_t i = 0; i < f.nr_texts; i++) {
		if (f.texts[i].fd >= 0)
			close(f.texts[i].fd);
		free(f.texts[i].path);
	}
	free(f.texts);
	*ret_functions = f.found;
	*ret_nr = f.nr;
}

void alloc_functions_free(struct alloc_function *functions, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		free(functions[i].name);
		free((char *)functions[i].path);
	}
	free(functions);
}
