/* Files wait in a list, oldest first; a running search owns its file. */
#include "cli/calls/function_searches.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/untrusted/user_shares.h"
#include "symbolizer/confined_functions.h"

#define RUNNING_MAX 4
#define WAITING_MAX 128 /* files, each with a descriptor */
#define YOUNG_NS (500ull * 1000 * 1000)

struct running {
	struct searched_file file;
	struct functions_search *search; /* NULL: this place is free */
	uint64_t begin_ns;
};

struct function_searches {
	const struct sandbox *sandbox;
	struct running running[RUNNING_MAX];
	struct searched_file *waiting;
	size_t nr_waiting, capacity;
	struct user_shares shares; /* of places in `waiting` */
};

static void release(struct searched_file *file)
{
	close(file->fd);
	free(file->path);
	free(file->globs);
	free(file->of);
}

struct function_searches *function_searches_new(const struct sandbox *sandbox)
{
	struct function_searches *s = xcalloc(1, sizeof(*s));

	s->sandbox = sandbox;
	user_shares_init(&s->shares, WAITING_MAX);
	return s;
}

void function_searches_free(struct function_searches *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < RUNNING_MAX; i++) {
		if (!s->running[i].search)
			continue;
		functions_search_free(s->running[i].search);
		release(&s->running[i].file);
	}
	for (size_t i = 0; i < s->nr_waiting; i++)
		release(&s->waiting[i]);
	user_shares_fini(&s->shares);
	free(s->waiting);
	free(s);
}

/* Takes a share to see whether one is left, and gives it back. */
bool function_searches_have_room(struct function_searches *s, uint32_t user)
{
	if (user == SEARCH_FOR_CALLER)
		return true;
	if (user_shares_take(&s->shares, user, 1) != SHARE_TAKEN)
		return false;
	user_shares_give(&s->shares, user, 1);
	return true;
}

void function_searches_add(struct function_searches *s, const struct searched_file *file)
{
	if (file->user != SEARCH_FOR_CALLER)
		user_shares_take(&s->shares, file->user, 1);
	s->waiting = xgrow(s->waiting, &s->capacity, s->nr_waiting + 1, sizeof(*s->waiting));
	s->waiting[s->nr_waiting++] = *file;
}

size_t function_searches_left(const struct function_searches *s)
{
	size_t nr = s->nr_waiting;

	for (size_t i = 0; i < RUNNING_MAX; i++)
		nr += s->running[i].search != NULL;
	return nr;
}

bool function_searches_left_for_caller(const struct function_searches *s)
{
	for (size_t i = 0; i < s->nr_waiting; i++)
		if (s->waiting[i].user == SEARCH_FOR_CALLER)
			return true;
	for (size_t i = 0; i < RUNNING_MAX; i++)
		if (s->running[i].search && s->running[i].file.user == SEARCH_FOR_CALLER)
			return true;
	return false;
}

static bool is_served(const struct function_searches *s, uint32_t user)
{
	for (size_t i = 0; i < RUNNING_MAX && user != SEARCH_FOR_CALLER; i++)
		if (s->running[i].search && s->running[i].file.user == user)
			return true;
	return false;
}

static struct running *free_place(struct function_searches *s)
{
	for (size_t i = 0; i < RUNNING_MAX; i++)
		if (!s->running[i].search)
			return &s->running[i];
	return NULL;
}

static struct searched_file take_waiting(struct function_searches *s, size_t i)
{
	struct searched_file file = s->waiting[i];

	memmove(&s->waiting[i], &s->waiting[i + 1], (--s->nr_waiting - i) * sizeof(*s->waiting));
	if (file.user != SEARCH_FOR_CALLER)
		user_shares_give(&s->shares, file.user, 1);
	return file;
}

/* Starts searches of the oldest files, at most one for each user. */
static void start_waiting(struct function_searches *s, function_searches_fn *fn, void *context)
{
	struct running *place;

	for (size_t i = 0; i < s->nr_waiting && (place = free_place(s));) {
		struct searched_file *f = &place->file;
		int err;

		if (is_served(s, s->waiting[i].user)) {
			i++;
			continue;
		}
		*f = take_waiting(s, i);
		place->begin_ns = monotonic_ns();
		err = functions_search_start(s->sandbox, f->fd, f->pid, f->path, f->globs,
					     f->nr_globs, &place->search);
		if (err) {
			place->search = NULL;
			fn(context, f, err, NULL, 0);
			release(f);
		}
	}
}

/* Returns whether a search has ended. */
static bool take_answers(struct function_searches *s, function_searches_fn *fn, void *context)
{
	bool ended = false;

	for (size_t i = 0; i < RUNNING_MAX; i++) {
		struct running *r = &s->running[i];
		struct named_function *functions = NULL;
		size_t nr = 0;
		int err;

		if (!r->search)
			continue;
		err = functions_search_go_on(r->search, &functions, &nr);
		if (err == -EAGAIN)
			continue;
		functions_search_free(r->search);
		r->search = NULL;
		fn(context, &r->file, err, functions, nr);
		function_names_free(functions, nr);
		release(&r->file);
		ended = true;
	}
	return ended;
}

/* Waits for an answer, if a search has just begun. Returns whether one can be read. */
static bool wait_for_young(const struct function_searches *s, uint64_t now, int timeout_ms)
{
	struct pollfd wanted[RUNNING_MAX];
	bool is_young = false;
	nfds_t nr = 0;

	for (size_t i = 0; i < RUNNING_MAX; i++) {
		const struct running *r = &s->running[i];

		if (!r->search)
			continue;
		wanted[nr++] = (struct pollfd){ functions_search_socket(r->search), POLLIN, 0 };
		is_young |= now < r->begin_ns + YOUNG_NS;
	}
	return is_young && timeout_ms > 0 && poll(wanted, nr, timeout_ms) > 0;
}

void function_searches_go_on(struct function_searches *s, int timeout_ms, function_searches_fn *fn,
			     void *context)
{
	uint64_t now = monotonic_ns(), end = now + (uint64_t)timeout_ms * 1000000;

	do {
		do
			start_waiting(s, fn, context);
		while (take_answers(s, fn, context));
		now = monotonic_ns();
	} while (now < end && wait_for_young(s, now, (int)((end - now) / 1000000) + 1));
}
