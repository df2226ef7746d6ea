/*
 * The child runs the snapshot unwinder, and asks the recorder what that wants to know of the
 * process. The bytes of the stack go through a file in memory that only the recorder writes.
 */
#include "sampler/walk/confined/confined_walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/full_io.h"
#include "core/sandbox/message.h"
#include "core/sandbox/sandbox.h"
#include "sampler/walk/user_walk.h"

#define FIRST_WAIT_MS 10000 /* its first walk reads files, and the machine may be busy */
#define WAIT_MS 2000
#define MAX_FAILURES 3
#define CPU_S 60

/* To the child: a stack to be walked. */
struct walk_order {
	struct walk_regs regs;
	uint64_t stack_start, stack_size, space, max;
};

struct confined_walk {
	struct snapshot_ops ops;
	void *context;
	const struct sandbox *sandbox;
	struct snapshot_unwinder *here; /* without a sandbox */
	struct walk_child child;
	unsigned int nr_failures;
	bool warm; /* the child has walked a stack */
	int err;
	uint64_t sps[CONFINED_FRAMES_MAX];
	uint64_t message[(sizeof(struct walk_word) + 2 * CONFINED_FRAMES_MAX * 8) / 8];
};

/* ---- in the child */

/* `message` has room for a word, and twice the frames. */
static void walk_one(struct walk_asker *w, struct snapshot_unwinder *unwinder, int stack_fd,
		     const struct walk_order *order, uint64_t *message)
{
	struct walk_word word = { .kind = WALK_DONE };
	struct snapshot_sample sample = {
		.regs = order->regs,
		.stack_start = order->stack_start,
		.stack_size = order->stack_size,
		.space = order->space,
	};
	uint64_t *frames = message + sizeof(word) / 8;
	struct snapshot_result result;
	void *stack = NULL;
	size_t nr_sps;

	if (order->stack_size)
		stack = mmap(NULL, order->stack_size, PROT_READ, MAP_SHARED, stack_fd, 0);
	if (stack == MAP_FAILED)
		_exit(1);
	walk_asker_enter(w, order->space);
	sample.stack = stack;
	result = snapshot_unwind(unwinder, &sample, frames, order->max);
	nr_sps = result.sps ? result.nr : 0;
	if (nr_sps)
		memcpy(frames + result.nr, result.sps, nr_sps * sizeof(*frames));
	word.marker = result.marker;
	word.nr = result.nr;
	word.gap = result.gap;
	memcpy(message, &word, sizeof(word));
	message_send(w->socket, message, sizeof(word) + (result.nr + nr_sps) * sizeof(*frames),
		     NULL, 0);
	if (stack)
		munmap(stack, order->stack_size);
}

static void walk_stacks(int socket)
{
	struct snapshot_ops ops = { .find_mapping = walk_ask_mapping,
				    .open_module = walk_ask_file };
	struct walk_asker w = { .socket = socket };
	struct snapshot_unwinder *unwinder;
	struct walk_order order;
	uint64_t *message;
	int stack_fd;

	if (message_receive(socket, &ops.by_header, sizeof(ops.by_header), &stack_fd, 1) !=
	    sizeof(ops.by_header))
		return;
	unwinder = snapshot_unwinder_new(&ops, &w);
	message = xmalloc(sizeof(((struct confined_walk *)NULL)->message));
	while (message_receive(socket, &order, sizeof(order), NULL, 0) == sizeof(order))
		walk_one(&w, unwinder, stack_fd, &order, message);
}

/* ---- in the recorder */

struct confined_walk *confined_walk_new(const struct snapshot_ops *ops, void *context,
					const struct sandbox *sandbox)
{
	struct confined_walk *w = xcalloc(1, sizeof(*w));

	w->ops = *ops;
	w->context = context;
	w->sandbox = sandbox;
	w->child = WALK_NO_CHILD;
	if (!sandbox)
		w->here = snapshot_unwinder_new(ops, context);
	return w;
}

static void end_child(struct confined_walk *w)
{
	walk_child_end(&w->child);
	w->warm = false;
}

void confined_walk_free(struct confined_walk *w)
{
	if (!w)
		return;
	walk_child_fini(&w->child);
	snapshot_unwinder_free(w->here);
	free(w);
}

int walk_word_take(const void *message, size_t size, size_t max, uint64_t *ret_frames,
		   uint64_t *ret_sps, struct snapshot_result *ret)
{
	const uint8_t *frames = (const uint8_t *)message + sizeof(struct walk_word);
	struct walk_word word;
	size_t nr_sps;

	if (size < sizeof(word))
		return -EBADMSG;
	memcpy(&word, message, sizeof(word));
	if (!word.nr || word.nr > max || word.gap > word.nr || word.marker < -1 ||
	    word.marker > MARKER_TOO_LONG)
		return -EBADMSG;
	nr_sps = word.gap ? 0 : word.nr;
	if (size != sizeof(word) + (word.nr + nr_sps) * sizeof(*ret_frames))
		return -EBADMSG;
	memcpy(ret_frames, frames, word.nr * sizeof(*ret_frames));
	memcpy(ret_sps, frames + word.nr * sizeof(*ret_frames), nr_sps * sizeof(*ret_sps));
	*ret = (struct snapshot_result){
		.nr = word.nr,
		.gap = word.gap,
		.marker = word.marker,
		.sps = nr_sps ? ret_sps : NULL,
	};
	return 0;
}

static int walk_in_child(struct confined_walk *w, const struct snapshot_sample *sample,
			 uint64_t *frames, size_t max, struct snapshot_result *ret)
{
	const struct walk_order order = {
		.regs = sample->regs,
		.stack_start = sample->stack_start,
		.stack_size = sample->stack_size,
		.space = sample->space,
		.max = max < CONFINED_FRAMES_MAX ? max : CONFINED_FRAMES_MAX,
	};
	size_t size;
	int err = 0;

	if (w->child.socket < 0)
		err = walk_child_start(&w->child, w->sandbox, walk_stacks, CPU_S, &w->ops);
	if (!err)
		err = full_write_at(w->child.stack_fd, sample->stack, sample->stack_size, 0);
	if (!err)
		err = message_send(w->child.socket, &order, sizeof(order), NULL, 0);
	if (!err)
		err = walk_questions_answer(w->child.socket, &w->ops, w->context, &w->child.told,
					    monotonic_ms() + (w->warm ? WAIT_MS : FIRST_WAIT_MS),
					    w->message, sizeof(w->message), &size);
	if (!err)
		err = walk_word_take(w->message, size, order.max, frames, w->sps, ret);
	return err == -EPIPE || err == -ECONNRESET ? -ECHILD : err;
}

struct snapshot_result confined_walk_run(struct confined_walk *w,
					 const struct snapshot_sample *sample, uint64_t *frames,
					 size_t max)
{
	struct snapshot_result result;

	if (w->here)
		return snapshot_unwind(w->here, sample, frames, max);
	w->err = w->nr_failures < MAX_FAILURES ? walk_in_child(w, sample, frames, max, &result)
					       : w->err;
	w->warm = true;
	if (!w->err)
		return result;
	w->nr_failures++;
	end_child(w);
	frames[0] = user_walk_frame(&sample->regs);
	w->sps[0] = sample->regs.sp;
	return (struct snapshot_result){ .nr = 1, .marker = MARKER_PARSER_FAILED, .sps = w->sps };
}

int confined_walk_error(const struct confined_walk *w)
{
	return w->err;
}
