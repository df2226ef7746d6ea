/*
 * A round names the frames that came since the last one. The first rounds follow each other at
 * once; later ones wait a hundred times as long as the last one took, so that ever new frames take
 * no more than a percent of a CPU: to open the debug information of a library for one address takes
 * 50 ms. They wait shorter while many samples have frames without names, and longer while hardly
 * any has.
 */
#include "cli/top/name_rounds.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/gpu/record_gpu.h"
#include "cli/record/recorder.h"
#include "cli/top/thread.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/rights/privileges.h"
#include "output/live/live.h"
#include "sampler/ebpf/source_ebpf.h"
#include "symbolizer/symbolizer.h"

#define MAX_MODULES 64 /* in a round: each has two open descriptors */
#define AT_ONCE 3      /* rounds without a pause */

/* By enum live_urgency: a pause is so many times as long as a round, and at most that long. */
static const struct {
	uint64_t times, most_ns;
} pauses[] = {
	[LIVE_CALM] = { 300, 30000000000 },
	[LIVE_SOON] = { 100, 20000000000 },
	[LIVE_URGENT] = { 30, 10000000000 },
};

struct opened {
	int file, root; /* descriptors, or -errno */
	size_t prefix;
};

struct name_rounds {
	struct live *live;
	struct recorder *recorder;
	struct debuginfod *servers;
	void (*done)(void *context);
	void *context;
	struct live_round *round; /* NULL: there is none */
	struct opened opened[MAX_MODULES];
	size_t nr_opened;
	pthread_t thread;
	bool is_running; /* the thread has to be joined */
	bool has_ended;	 /* atomic: its round is over */
	uint64_t nr_rounds;
	uint64_t ended_ns, took_ns; /* of the last round; 0: the next one does not wait */
};

struct name_rounds *name_rounds_new(struct live *live, struct recorder *recorder,
				    struct debuginfod *servers, void (*done)(void *context),
				    void *context)
{
	struct name_rounds *n = xcalloc(1, sizeof(*n));

	n->live = live;
	n->recorder = recorder;
	n->servers = servers;
	n->done = done;
	n->context = context;
	return n;
}

static int take_file(void *context, uint32_t module)
{
	struct name_rounds *n = context;
	int fd = module < n->nr_opened ? n->opened[module].file : -ENOENT;

	if (fd >= 0)
		n->opened[module].file = -ENOENT; /* the symbolizer owns it now */
	return fd;
}

static int take_root(void *context, uint32_t module, size_t *ret_prefix)
{
	struct name_rounds *n = context;
	int fd = module < n->nr_opened ? n->opened[module].root : -ENOENT;

	if (fd >= 0) {
		n->opened[module].root = -ENOENT;
		*ret_prefix = n->opened[module].prefix;
	}
	return fd;
}

/* Asks the kernel through a map of the source that only this thread uses. */
static int kernel_symbol(void *context, uint64_t address, char *name, size_t size)
{
	const struct name_rounds *n = context;

	return source_ebpf_kernel_symbol(n->recorder->source, address, name, size);
}

static void *name_round(void *context)
{
	struct name_rounds *n = context;
	const struct symbolizer_opts opts = {
		.debuginfod = n->servers,
		.sandbox = n->recorder->sandbox,
		.open_module = take_file,
		.open_root = take_root,
		.kernel_symbol = n->recorder->ops == &source_ebpf ? kernel_symbol : NULL,
		.context = n,
	};
	uint64_t start_ns = monotonic_ns();
	struct symbolizer_stats stats;

	symbolizer_run(n->round->profile, &opts, &stats);
	live_round_end(n->live, n->round);
	n->round = NULL;
	n->ended_ns = monotonic_ns();
	n->took_ns = n->nr_rounds > AT_ONCE ? n->ended_ns - start_ns : 0;
	n->done(n->context);
	__atomic_store_n(&n->has_ended, true, __ATOMIC_RELEASE);
	return NULL;
}

static void open_files(struct name_rounds *n)
{
	const struct profile *p = n->round->profile;
	const struct source_ops *ops = n->recorder->ops;
	enum rights before = privileges_use(RIGHTS_BORROWED);

	n->nr_opened = p->nr_modules < MAX_MODULES ? p->nr_modules : MAX_MODULES;
	for (uint32_t i = 0; i < n->nr_opened; i++) {
		struct opened *o = &n->opened[i];
		uint32_t module = n->round->modules[i];

		*o = (struct opened){ -ENOENT, -ENOENT, 0 };
		if (p->modules[i].kind != MODULE_ELF)
			continue;
		if (ops->open_module)
			o->file = ops->open_module(n->recorder->source, module);
		if (o->file < 0)
			o->file = record_gpu_open_module(n->recorder->gpu, module);
		if (ops->open_root)
			o->root = ops->open_root(n->recorder->source, module, &o->prefix);
	}
	privileges_use(before);
}

static void close_files(struct name_rounds *n)
{
	for (size_t i = 0; i < n->nr_opened; i++) {
		if (n->opened[i].file >= 0)
			close(n->opened[i].file);
		if (n->opened[i].root >= 0)
			close(n->opened[i].root);
	}
	n->nr_opened = 0;
}

static void join(struct name_rounds *n)
{
	if (!n->is_running)
		return;
	pthread_join(n->thread, NULL);
	n->is_running = n->has_ended = false;
	close_files(n);
}

static bool begin(struct name_rounds *n)
{
	n->round = live_round_new(n->live, MAX_MODULES);
	if (!n->round)
		return false;
	n->nr_rounds++;
	open_files(n);
	if (thread_start(&n->thread, name_round, n, false))
		name_round(n); /* without a thread, sampling waits for it */
	else
		n->is_running = true;
	if (!n->is_running) {
		n->has_ended = false;
		close_files(n);
	}
	return true;
}

static uint64_t pause_ns(const struct name_rounds *n)
{
	enum live_urgency urgency = live_round_urgency(n->live);
	uint64_t ns = n->took_ns * pauses[urgency].times;

	return ns < pauses[urgency].most_ns ? ns : pauses[urgency].most_ns;
}

void name_rounds_poll(struct name_rounds *n)
{
	if (n->is_running && !__atomic_load_n(&n->has_ended, __ATOMIC_ACQUIRE))
		return;
	join(n);
	if (monotonic_ns() - n->ended_ns >= pause_ns(n))
		begin(n);
}

void name_rounds_finish(struct name_rounds *n)
{
	do
		join(n);
	while (begin(n));
}

void name_rounds_free(struct name_rounds *n)
{
	if (!n)
		return;
	join(n);
	free(n);
}
