/*
 * The bytes of a stack go through a file in memory that only the recorder writes; registers go
 * through the socket, and frames come back through it.
 */
#include "sampler/walk/confined/confined_turns.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/full_io.h"
#include "core/base/log.h"
#include "core/sandbox/message.h"
#include "core/sandbox/sandbox.h"
#include "core/untrusted/time_budget.h"
#include "sampler/walk/confined/walk_questions.h"
#include "sampler/walk/libunwind_modules.h"
#include "sampler/walk/libunwind_walk.h"
#include "sampler/walk/user_walk.h"

#define FIRST_WAIT_MS 2000 /* its first turn reads files, and the machine may be busy */
#define WAIT_MS 1000
#define TURN_NS 100000000u /* CPU time of libunwind, a thousand times what a turn takes */
#define CPU_S 120
#define TURNS_MAX 50000u /* of one child, so that it stays far below its limit of time */
#define FILES_MAX 512u	 /* of one child */
#define MAX_WARNINGS 5

#define REFUSED 64u	    /* files that are not asked about again */
#define USERS 64u	    /* root, and 63 of which others share one by their number */
#define FULL_NS 2500000000u /* a user's turns are refused once they fill so much of the future */
#define FREE_FAILURES 3u    /* after that many the user's children rest, */
#define REST_FACTOR 20u	    /* so many times as long as the failure took; late files, too */
#define REST_MIN_NS 1000000u

enum order_kind { ORDER_TURN, ORDER_FORGET };

/* To the child. */
struct turn_order {
	uint64_t kind; /* enum order_kind */
	uint64_t module, pending, nr;
	struct walk_regs leaf, stop;
	uint64_t stack_start, stack_size, space;
};

/* From it: in `word`, marker is the status, key the fault, and gap says whether from_leaf. */
struct turn_answer {
	struct walk_word word;
	struct walk_regs regs;
	uint64_t words[2 * TURN_FRAMES_MAX]; /* nr frames, and as many stack pointers */
};

struct turn_child {
	uint32_t user, nr_turns;
	struct walk_child child;
};

/*
 * A file is refused for good, unless its child was only late: on a busy machine that is not the
 * file's fault. Then it rests, and twice as long when that happens again.
 */
struct refused_file {
	uint32_t user;
	uint64_t module; /* 0: none */
	uint64_t until_ns, rest_ns;
};

struct confined_turns {
	struct snapshot_ops ops;
	void *context;
	const struct sandbox *sandbox;
	struct turn_child children[TURN_CHILDREN];
	unsigned int next; /* the oldest child of those that are not root's */
	struct refused_file refused[REFUSED];
	unsigned int next_refused;
	uint32_t nr_failures[USERS];
	uint64_t resume_ns[USERS];
	uint64_t full_at_ns[USERS], others_full_at_ns; /* time_budget.h */
	unsigned int nr_warnings;
	struct turn_answer answer;
};

/* ---- in the child */

struct open_file {
	uint64_t module;
	int fd;
};

struct worker {
	struct walk_asker asker;
	struct libunwind_modules *modules;
	struct libunwind_walk *walk;
	struct open_file *files;
	size_t nr_files, capacity;
	int stack_fd;
	struct turn_answer answer;
	uint64_t sps[TURN_FRAMES_MAX];
};

static bool ask_mapping(void *context, uint64_t address, struct snapshot_mapping *ret)
{
	struct worker *w = context;

	return walk_ask_mapping(&w->asker, address, ret);
}

static bool ask_file(void *context, uint64_t module, struct snapshot_file *ret)
{
	struct worker *w = context;

	if (!walk_ask_file(&w->asker, module, ret))
		return false;
	w->files = xgrow(w->files, &w->capacity, w->nr_files + 1, sizeof(*w->files));
	w->files[w->nr_files++] = (struct open_file){ module, ret->fd };
	return true;
}

static void forget(struct worker *w, uint64_t module)
{
	libunwind_modules_forget(w->modules, module);
	for (size_t i = 0; i < w->nr_files; i++)
		if (w->files[i].module == module) {
			close(w->files[i].fd);
			w->files[i--] = w->files[--w->nr_files];
		}
	w->asker.nr = 0; /* its mappings name the module */
}

static void send_answer(struct worker *w, const struct snapshot_turn *turn)
{
	struct turn_answer *a = &w->answer;

	a->word = (struct walk_word){
		.kind = WALK_DONE,
		.marker = (int32_t)turn->status,
		.key = turn->fault,
		.nr = turn->nr_found,
		.gap = turn->from_leaf,
	};
	a->regs = turn->regs;
	memcpy(a->words + turn->nr_found, w->sps, turn->nr_found * sizeof(*w->sps));
	message_send(w->asker.socket, a,
		     offsetof(struct turn_answer, words) + 2 * turn->nr_found * sizeof(*a->words),
		     NULL, 0);
}

static void work(struct worker *w, const struct turn_order *order)
{
	struct snapshot_sample sample = {
		.regs = order->leaf,
		.stack_start = order->stack_start,
		.stack_size = order->stack_size,
		.space = order->space,
	};
	struct snapshot_turn turn = {
		.regs = order->stop,
		.module = order->module,
		.pending = order->pending,
		.nr = order->nr,
		.frames = w->answer.words,
		.sps = w->sps,
		.max = TURN_FRAMES_MAX,
	};
	size_t nr_files = w->nr_files;
	void *stack = NULL;

	if (order->stack_size)
		stack = mmap(NULL, order->stack_size, PROT_READ, MAP_SHARED, w->stack_fd, 0);
	if (stack == MAP_FAILED)
		_exit(1);
	sample.stack = stack;
	walk_asker_enter(&w->asker, order->space);
	libunwind_walk_limit(w->walk, TURN_NS);
	libunwind_walk_turn(w->walk, &sample, &turn);
	if (turn.status == WALK_TOO_LONG && w->nr_files > nr_files) {
		/* it was the reading of files that took long, which is done now */
		turn.regs = order->stop;
		libunwind_walk_limit(w->walk, TURN_NS);
		libunwind_walk_turn(w->walk, &sample, &turn);
	}
	send_answer(w, &turn);
	if (stack)
		munmap(stack, order->stack_size);
}

static void take_orders(int socket)
{
	struct snapshot_ops ops = { .find_mapping = ask_mapping, .open_module = ask_file };
	struct worker *w = xcalloc(1, sizeof(*w));
	struct turn_order order;

	w->asker.socket = socket;
	if (message_receive(socket, &ops.by_header, sizeof(ops.by_header), &w->stack_fd, 1) !=
	    sizeof(ops.by_header))
		return;
	w->modules = libunwind_modules_new(&ops, w);
	w->walk = libunwind_walk_new(w->modules);
	while (w->walk && message_receive(socket, &order, sizeof(order), NULL, 0) == sizeof(order))
		if (order.kind == ORDER_TURN)
			work(w, &order);
		else
			forget(w, order.module);
}

/* ---- in the recorder */

struct confined_turns *confined_turns_new(const struct snapshot_ops *ops, void *context,
					  const struct sandbox *sandbox)
{
	struct confined_turns *t = xcalloc(1, sizeof(*t));

	t->ops = *ops;
	t->context = context;
	t->sandbox = sandbox;
	t->next = 1;
	for (size_t i = 0; i < TURN_CHILDREN; i++)
		t->children[i].child = WALK_NO_CHILD;
	return t;
}

static void end_child(struct turn_child *c)
{
	walk_child_end(&c->child);
	c->nr_turns = 0;
}

void confined_turns_free(struct confined_turns *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < TURN_CHILDREN; i++)
		walk_child_fini(&t->children[i].child);
	free(t);
}

void confined_turns_forget(struct confined_turns *t, uint64_t module)
{
	const struct turn_order order = { .kind = ORDER_FORGET, .module = module };

	for (size_t i = 0; i < TURN_CHILDREN; i++) {
		struct turn_child *c = &t->children[i];

		if (c->child.socket >= 0 && walk_told_forget(&c->child.told, module) &&
		    message_send(c->child.socket, &order, sizeof(order), NULL, 0))
			end_child(c);
	}
	for (size_t i = 0; i < REFUSED; i++)
		if (t->refused[i].module == module)
			t->refused[i].module = 0;
}

int turn_answer_take(const void *message, size_t size, const struct snapshot_sample *sample,
		     struct snapshot_turn *turn)
{
	const size_t head = offsetof(struct turn_answer, words);
	const uint8_t *words = (const uint8_t *)message + head;
	struct turn_answer a;
	size_t nr;

	if (size < head)
		return -EBADMSG;
	memcpy(&a, message, head);
	nr = a.word.nr;
	if (nr > TURN_FRAMES_MAX || nr > turn->max || a.word.gap > 1 || a.word.marker < WALK_OK ||
	    a.word.marker > WALK_TOO_LONG || size != head + 2 * nr * sizeof(*turn->frames))
		return -EBADMSG;
	memcpy(turn->frames, words, nr * sizeof(*turn->frames));
	memcpy(turn->sps, words + nr * sizeof(*turn->frames), nr * sizeof(*turn->sps));
	if (a.word.gap && (nr <= turn->nr || turn->frames[0] != user_walk_frame(&sample->regs)))
		return -EBADMSG;
	a.regs.exact = a.regs.exact != 0;
	a.regs.leaf_regs = a.regs.leaf_regs && !nr; /* libunwind leaves no such frame */
	turn->regs = a.regs;
	turn->from_leaf = a.word.gap;
	turn->nr_found = nr;
	turn->status = (enum walk_status)a.word.marker;
	turn->fault = a.word.key;
	return 0;
}

/*
 * The child of a user, which may have to be started still. Root has a place of its own, because a
 * user can have as many numbers as there are places.
 */
static struct turn_child *child_of(struct confined_turns *t, uint32_t user)
{
	struct turn_child *c;

	for (size_t i = 0; i < TURN_CHILDREN; i++) {
		c = &t->children[i];
		if (c->child.socket < 0 || c->user != user)
			continue;
		if (c->nr_turns >= TURNS_MAX || c->child.told.nr >= FILES_MAX)
			end_child(c);
		return c;
	}
	if (!user) {
		c = &t->children[0];
	} else {
		c = &t->children[t->next];
		t->next = t->next + 1 < TURN_CHILDREN ? t->next + 1 : 1;
	}
	end_child(c);
	c->user = user;
	return c;
}

static int ask(struct confined_turns *t, struct turn_child *c, const struct snapshot_sample *sample,
	       struct snapshot_turn *turn)
{
	const struct turn_order order = {
		.kind = ORDER_TURN,
		.module = turn->module,
		.pending = turn->pending,
		.nr = turn->nr,
		.leaf = sample->regs,
		.stop = turn->regs,
		.stack_start = sample->stack_start,
		.stack_size = sample->stack_size,
		.space = sample->space,
	};
	uint64_t end_ms = monotonic_ms() + (c->nr_turns ? WAIT_MS : FIRST_WAIT_MS);
	size_t size;
	int err = 0;

	if (c->child.socket < 0)
		err = walk_child_start(&c->child, t->sandbox, take_orders, CPU_S, &t->ops);
	if (!err)
		err = full_write_at(c->child.stack_fd, sample->stack, sample->stack_size, 0);
	if (!err)
		err = message_send(c->child.socket, &order, sizeof(order), NULL, 0);
	if (!err)
		err = walk_questions_answer(c->child.socket, &t->ops, t->context, &c->child.told,
					    end_ms, &t->answer, sizeof(t->answer), &size);
	if (!err)
		err = turn_answer_take(&t->answer, size, sample, turn);
	c->nr_turns++;
	if (err == -EAGAIN)
		return -ETIMEDOUT;
	return err == -EPIPE || err == -ECONNRESET ? -ECHILD : err;
}

static struct refused_file *find_refused(struct confined_turns *t, uint32_t user, uint64_t module)
{
	for (size_t i = 0; i < REFUSED; i++)
		if (t->refused[i].module == module && t->refused[i].user == user && module)
			return &t->refused[i];
	return NULL;
}

static bool is_refused(struct confined_turns *t, uint32_t user, uint64_t module, uint64_t now_ns)
{
	const struct refused_file *file = find_refused(t, user, module);

	return file && now_ns < file->until_ns;
}

/* `rest_ns`: of a file that was late for the first time. */
static void refuse(struct confined_turns *t, uint32_t user, uint64_t module, int err,
		   uint64_t now_ns, uint64_t rest_ns)
{
	struct refused_file *file = find_refused(t, user, module);

	if (!file) {
		file = &t->refused[t->next_refused];
		t->next_refused = (t->next_refused + 1) % REFUSED;
		*file = (struct refused_file){ .user = user, .module = module };
	}
	file->rest_ns = file->rest_ns ? 2 * file->rest_ns : rest_ns;
	file->until_ns = err == -ETIMEDOUT ? now_ns + file->rest_ns : UINT64_MAX;
}

static void warn(struct confined_turns *t, uint64_t module, int err)
{
	char link[32], path[PATH_MAX] = "a file";
	const char *reason = sandbox_failure(err);
	struct snapshot_file file;
	ssize_t n;

	if (t->nr_warnings++ >= MAX_WARNINGS)
		return;
	if (module && t->ops.open_module(t->context, module, &file) && !file.memory) {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", file.fd);
		n = readlink(link, path, sizeof(path) - 1);
		if (n > 0)
			path[n] = '\0';
	}
	log_warning("stacks that cannot leave '%s' by its unwind table end there: %s", path,
		    reason ? reason : strerror(-err));
}

/* Users can have many numbers, but none that shares root's place. */
static size_t place_of(uint32_t user)
{
	return user ? 1 + user % (USERS - 1) : 0;
}

static void note_failure(struct confined_turns *t, uint32_t user, uint64_t module, int err,
			 uint64_t start_ns)
{
	uint64_t now_ns = monotonic_ns(), took_ns = now_ns - start_ns;
	uint64_t rest_ns = REST_FACTOR * (took_ns > REST_MIN_NS ? took_ns : REST_MIN_NS);
	size_t at = place_of(user);

	warn(t, module, err);
	refuse(t, user, module, err, now_ns, rest_ns);
	if (++t->nr_failures[at] > FREE_FAILURES)
		t->resume_ns[at] = now_ns + rest_ns;
}

static bool may_take_turn(const struct confined_turns *t, uint32_t user, uint64_t now_ns)
{
	size_t at = place_of(user);

	return now_ns >= t->resume_ns[at] &&
	       !time_budget_is_used_up(t->full_at_ns[at], now_ns, FULL_NS) &&
	       !(at && time_budget_is_used_up(t->others_full_at_ns, now_ns, FULL_NS));
}

/* Turns of one user take half of the time at most, those of all but root three quarters. */
static void use_time(struct confined_turns *t, uint32_t user, uint64_t start_ns)
{
	uint64_t took_ns = monotonic_ns() - start_ns;

	time_budget_use(&t->full_at_ns[place_of(user)], start_ns, 2 * took_ns);
	if (user)
		time_budget_use(&t->others_full_at_ns, start_ns, took_ns + took_ns / 3);
}

bool confined_turns_take(void *turns, const struct snapshot_sample *sample,
			 struct snapshot_turn *turn)
{
	struct confined_turns *t = turns;
	uint64_t start_ns = monotonic_ns();
	struct turn_child *c;
	int err;

	if (!may_take_turn(t, sample->user, start_ns) ||
	    is_refused(t, sample->user, turn->module, start_ns))
		return false;
	c = child_of(t, sample->user);
	err = ask(t, c, sample, turn);
	use_time(t, sample->user, start_ns);
	if (!err)
		return true;
	end_child(c);
	note_failure(t, sample->user, turn->module, err, start_ns);
	return false;
}
