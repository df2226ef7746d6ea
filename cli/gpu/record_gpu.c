/*
 * Follows the processes that have the GPU library. Each is connected through a socket, then
 * collected from through shared memory until it ends. Processes that are not to be recorded stay
 * connected and wait. What is collected goes to the same recording as the samples.
 */
#include "cli/gpu/record_gpu.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/gpu/capture_windows.h"
#include "cli/gpu/gpu_attach.h"
#include "cli/gpu/gpu_environment.h"
#include "cli/gpu/gpu_guests.h"
#include "cli/gpu/gpu_opts.h"
#include "cli/gpu/sample_tee.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/profile/facts.h"
#include "core/profile/gpu_kinds.h"
#include "core/base/log.h"
#include "core/base/path.h"
#include "core/profile/source.h"
#include "gpu/collect.h"
#include "gpu/region/link.h"
#include "gpu/region/shared_region.h"
#include "sampler/target/launch.h"
#include "sampler/attach/own_library.h"
#include "sampler/walk/walk_publisher.h"
#include "symbolizer/lookup/demangle.h"

#define BUSY_MS 20 /* the rings hold that much at half a million launches a second */
/* the program waits in cuInit() for its rows, at most five seconds */
#define FIRST_ROWS_MS 2000
#define ROWS_SHARE 10 /* after the first two seconds, such waits take at most a tenth of the time */
#define REFRESH_NS (500 * NS_PER_MS)
#define STOP_MS 1000
#define MAX_RUNS (1u << 20) /* ranges in one recording; further ones are only added to the sums */
#define MAX_COLLECTIVES (1u << 20)

struct target {
	struct gpu_peer peer;
	/* NULL: the process is left out and only waits for an answer */
	struct gpu_collect *collect;
	struct walk_target *walk; /* NULL: the process had ended already */
	uint64_t refreshed_ns;
	uint32_t state; /* enum gpu_state, at the last look */
	bool active, ended;
	struct gpu_region *last_header; /* once it has ended: peer.header points to it */
	struct target *next;
};

struct record_gpu {
	struct record_gpu_opts opts;
	pid_t launched;	   /* the program that sprof started, 0 = none */
	uint64_t begin_ns; /* nothing is collected before this time */
	/* how many more are kept one by one */
	uint64_t activity_room, run_room, collective_room;
	char *library;
	const struct sandbox *sandbox;
	struct gpu_guests *guests; /* connected, but have not handed over their memory */
	struct walk_publisher *publisher;
	uint64_t rows_waited_ns, started_ns;
	struct sample_tee *tee;
	struct sink *sink;	/* the recording's */
	struct gpu_peer *peers; /* connected; record_gpu_join() makes them targets */
	struct target *targets;
	size_t nr_peers, nr_targets;
};

/* Is the file one whose frames say how calls are made (libcuda, our library)? They are dropped. */
static bool is_machinery(const char *path)
{
	const char *name = path_base_name(path);

	return !strncmp(name, GPU_LIBRARY, strlen(GPU_LIBRARY)) ||
	       !strncmp(name, "libcupti.so", strlen("libcupti.so"));
}

/* gpu_collect_opts.frame */
static uint32_t frame_at(void *context, struct sink *sink, uint64_t address)
{
	struct target *t = context;
	const char *path = "";
	uint32_t frame = t->walk ? walk_target_frame(t->walk, sink, address, &path) : PROFILE_NONE;

	if (frame == PROFILE_NONE)
		return GPU_UNKNOWN_FRAME;
	return is_machinery(path) ? GPU_NO_FRAME : frame;
}

/* gpu_collect_opts.python_frame */
static uint32_t python_frame(void *context, struct sink *sink, uint64_t word, const void *code,
			     size_t size)
{
	struct target *t = context;
	uint32_t frame = PROFILE_NONE;

	if (t->walk)
		frame = walk_target_python_frame(t->walk, sink, word, code, size);
	return frame == PROFILE_NONE ? GPU_UNKNOWN_FRAME : frame;
}

static void activate(const struct record_gpu *g, struct target *t)
{
	struct gpu_config config;
	const struct fact_gpu_collected collected = {
		.pid = (uint64_t)t->peer.pid,
		.time_ns = monotonic_ns(),
		.kinds = g->opts.kinds,
	};

	record_gpu_configure(&g->opts, &config, t->peer.header->capture_name);
	g->sink->fact(g->sink, FACT_GPU_COLLECTED, &collected);
	gpu_link_control(&t->peer, GPU_CONTROL_ACTIVE, &config);
	t->active = true;
}

/* A process that is not recorded: its library stays asleep. */
static void leave_out(struct record_gpu *g, const struct gpu_peer *peer)
{
	struct target *t = xcalloc(1, sizeof(*t));
	const struct fact_gpu_counter row = {
		.pid = (uint64_t)peer->pid,
		.name = g->sink->string(g->sink, COUNTER_PROCESS_LEFT_OUT,
					strlen(COUNTER_PROCESS_LEFT_OUT)),
		.value = 1,
	};

	t->peer = *peer;
	t->next = g->targets;
	g->targets = t;
	g->nr_targets++;
	g->sink->fact(g->sink, FACT_GPU_COUNTER, &row);
	gpu_link_control(peer, GPU_CONTROL_DORMANT, NULL);
	log_debug("GPU data of process %d is left out: --gpu-processes %s", (int)peer->pid,
		  gpu_processes_name(g->opts.processes));
}

/*
 * Waits for the unwind rows of a new process. All such waits together have a limit, so that many
 * new processes do not keep the recorder from its other work.
 */
static void await_first_rows(struct record_gpu *g)
{
	uint64_t now = monotonic_ns();
	uint64_t most = FIRST_ROWS_MS * NS_PER_MS + (now - g->started_ns) / ROWS_SHARE;
	uint64_t left = most > g->rows_waited_ns ? most - g->rows_waited_ns : 0;

	if (left > FIRST_ROWS_MS * NS_PER_MS)
		left = FIRST_ROWS_MS * NS_PER_MS;
	walk_publisher_take(g->publisher, (int)(left / NS_PER_MS));
	g->rows_waited_ns += monotonic_ns() - now;
}

static void add_target(struct record_gpu *g, const struct gpu_peer *peer)
{
	struct target *t = xcalloc(1, sizeof(*t));
	const struct gpu_collect_opts opts = {
		.pid = peer->pid,
		.without_kernels = !(g->opts.kinds & GPU_KIND_KERNELS),
		.max_overhead_ppm = g->opts.max_overhead_ppm,
		.context = t,
		.frame = frame_at,
		.python_frame = python_frame,
		.activity_room = &g->activity_room,
		.run_room = &g->run_room,
		.collective_room = &g->collective_room,
		.demangle = demangle,
	};

	t->peer = *peer;
	t->refreshed_ns = monotonic_ns();
	t->walk = walk_publisher_add(g->publisher, peer->pid);
	t->collect = gpu_collect_new(peer->region, &opts, g->sink);
	t->next = g->targets;
	g->targets = t;
	g->nr_targets++;
	if (t->walk) {
		await_first_rows(g);
		gpu_link_send_rows(peer, walk_publisher_arena_fd(g->publisher),
				   walk_target_space_fd(t->walk));
	}
	if (g->begin_ns > monotonic_ns()) /* an answer it waits for */
		gpu_link_control(peer, GPU_CONTROL_DORMANT, NULL);
	else
		activate(g, t);
	log_debug("GPU data of process %d", (int)peer->pid);
}

static void take_peer(void *context, const struct gpu_peer *peer)
{
	struct record_gpu *g = context;

	if (gpu_processes_has(g->opts.processes, peer->pid, g->launched))
		add_target(g, peer);
	else
		leave_out(g, peer);
}

/* Unmaps what the process shared, except for a copy of the header, which is read later. */
static void end_target(struct target *t)
{
	if (t->active) {
		t->last_header = xmalloc(sizeof(*t->last_header));
		shared_region_header(t->peer.region, t->last_header);
	}
	if (t->collect)
		gpu_collect_finish(t->collect, monotonic_ns());
	else
		shared_region_close(t->peer.region);
	gpu_link_let_go(&t->peer);
	gpu_link_close(&t->peer);
	t->peer.region = NULL;
	t->peer.header = t->last_header;
	walk_target_free(t->walk);
	t->walk = NULL;
	t->ended = true;
}

static void drain_target(struct target *t)
{
	bool gone = gpu_link_is_gone(&t->peer); /* asked before the drain, which is the last then */
	uint32_t state = gpu_link_state(&t->peer);

	/* a new state may mean that libcupti has just been loaded */
	if (t->walk && (state != t->state || monotonic_ns() - t->refreshed_ns > REFRESH_NS)) {
		t->state = state;
		walk_target_refresh(t->walk);
		t->refreshed_ns = monotonic_ns();
	}
	if (t->collect)
		gpu_collect_drain(t->collect, monotonic_ns());
	if (shared_region_is_lost(t->peer.region))
		log_warning("process %d has taken back the memory that it shares with us: its GPU "
			    "data ends here",
			    (int)t->peer.pid);
	if (gone || shared_region_is_lost(t->peer.region))
		end_target(t);
}

int record_gpu_new(const struct record_gpu_opts *opts, bool python, const struct sandbox *sandbox,
		   struct table_cache *cache, struct record_gpu **ret)
{
	enum gpu_mode mode = opts->mode;
	char *library = mode == GPU_OFF ? NULL : own_library_find(GPU_LIBRARY);
	struct record_gpu *g;
	int err;

	*ret = NULL;
	if (!library) {
		if (mode != GPU_ON)
			return 0;
		log_error(0, "collect GPU data: " GPU_LIBRARY
			     " is not beside sprof, nor in ../lib/sprof");
		log_hint("make install");
		return -ENOENT;
	}
	g = xcalloc(1, sizeof(*g));
	g->opts = *opts;
	g->started_ns = monotonic_ns();
	g->activity_room = opts->timeline;
	g->run_room = MAX_RUNS;
	g->collective_room = MAX_COLLECTIVES;
	g->library = library;
	g->sandbox = sandbox;
	err = gpu_guests_new(&g->guests);
	err = err ? err : walk_publisher_new(python, sandbox, cache, &g->publisher);
	if (err) {
		log_error(-err, "wait for GPU data");
		if (err == -EFBIG)
			log_hint("the limit counts for shared memory, too: ulimit -f unlimited");
		record_gpu_free(g);
		return mode == GPU_ON ? -EIO : 0;
	}
	*ret = g;
	return 0;
}

int record_gpu_connect(struct record_gpu *g, const pid_t *pids, size_t nr_pids)
{
	if (!g)
		return 0;
	g->peers = xcalloc(nr_pids + 1, sizeof(*g->peers));
	for (size_t i = 0; i < nr_pids; i++) {
		int err;

		gpu_guests_expect(g->guests, pids[i]);
		err = record_gpu_attach(pids[i], g->library, g->sandbox, g->opts.mode == GPU_ON,
					&g->peers[g->nr_peers]);
		if (!err)
			g->nr_peers++;
		else if (g->opts.mode == GPU_ON)
			return err;
	}
	return 0;
}

void record_gpu_connect_started(struct record_gpu *g, const pid_t *pids, size_t nr_pids)
{
	if (!g)
		return;
	g->peers = xreallocarray(g->peers, g->nr_peers + nr_pids + 1, sizeof(*g->peers));
	for (size_t i = 0; i < nr_pids; i++)
		g->nr_peers += !record_gpu_attach(pids[i], g->library, g->sandbox, false,
						  &g->peers[g->nr_peers]);
}

void record_gpu_join(struct record_gpu *g)
{
	for (size_t i = 0; g && i < g->nr_peers; i++)
		take_peer(g, &g->peers[i]);
	if (g)
		g->nr_peers = 0;
}

void record_gpu_free(struct record_gpu *g)
{
	struct target *next;

	if (!g)
		return;
	for (struct target *t = g->targets; t; t = next) {
		next = t->next;
		gpu_collect_free(t->collect);
		if (!t->ended) {
			if (!t->collect)
				shared_region_close(t->peer.region);
			gpu_link_close(&t->peer);
		}
		free(t->last_header);
		free(t);
	}
	for (size_t i = 0; i < g->nr_peers; i++) {
		shared_region_close(g->peers[i].region);
		gpu_link_close(&g->peers[i]);
	}
	gpu_guests_free(g->guests);
	free(g->peers);
	walk_publisher_free(g->publisher);
	sample_tee_free(g->tee);
	free(g->library);
	free(g);
}

void record_gpu_set_environment(struct record_gpu *g, struct launch *launch)
{
	if (!g)
		return;
	g->launched = launch->pid;
	gpu_guests_expect(g->guests, launch->pid);
	launch_set_environment(launch, gpu_guests_ticket(g->guests));
	gpu_environment_set(launch, g->library, gpu_guests_name(g->guests));
}

static void blame(void *context, uint32_t pid, uint32_t tid, uint64_t time_ns, uint32_t stack)
{
	struct record_gpu *g = context;

	for (struct target *t = g->targets; t; t = t->next)
		if (t->collect && !t->ended && (uint32_t)t->peer.pid == pid)
			gpu_collect_cpu_sample(t->collect, tid, time_ns, stack);
}

struct sink *record_gpu_watch(struct record_gpu *g, struct sink *sink)
{
	if (!g)
		return sink;
	g->sink = sink;
	if (!g->tee)
		g->tee = sample_tee_new(sink, blame, NULL, g);
	return sample_tee_sink(g->tee);
}

void record_gpu_drain(struct record_gpu *g)
{
	if (!g)
		return;
	gpu_guests_serve(g->guests, take_peer, g);
	walk_publisher_take(g->publisher, 0);
	for (struct target *t = g->targets; t; t = t->next) {
		if (t->ended)
			continue;
		if (t->collect && !t->active && monotonic_ns() >= g->begin_ns)
			activate(g, t);
		drain_target(t);
	}
}

void record_gpu_wait_until(struct record_gpu *g, uint64_t time_ns)
{
	if (g)
		g->begin_ns = time_ns;
}

bool record_gpu_captures(const struct record_gpu *g, uint64_t time_ns)
{
	if (!g || !g->opts.capture)
		return true;
	for (const struct target *t = g->targets; t; t = t->next)
		if (t->active && capture_windows_hold(t->peer.header, time_ns))
			return true;
	return false;
}

bool record_gpu_has_captured(const struct record_gpu *g)
{
	if (!g || !g->opts.capture_once)
		return false;
	for (const struct target *t = g->targets; t; t = t->next)
		if (t->active && capture_windows_first_ended(t->peer.header))
			return true;
	return false;
}

int record_gpu_timeout_ms(const struct record_gpu *g, int timeout_ms)
{
	bool any = false;

	for (const struct target *t = g ? g->targets : NULL; t; t = t->next)
		any |= !t->ended;
	any |= g && gpu_guests_waiting(g->guests);
	return any && timeout_ms > BUSY_MS ? BUSY_MS : timeout_ms;
}

static bool all_ended(const struct record_gpu *g)
{
	for (const struct target *t = g->targets; t; t = t->next)
		if (!t->ended)
			return false;
	return true;
}

void record_gpu_stop(struct record_gpu *g)
{
	uint64_t end = monotonic_ns() + STOP_MS * NS_PER_MS;

	if (!g || !g->sink)
		return;
	record_gpu_drain(g); /* also processes that have connected since the last round */
	for (struct target *t = g->targets; t; t = t->next)
		if (!t->ended)
			gpu_link_control(&t->peer, GPU_CONTROL_DETACH, NULL);
	while (!all_ended(g) && monotonic_ns() < end) {
		const struct timespec pause = { 0, 2000000 };

		nanosleep(&pause, NULL);
		record_gpu_drain(g);
	}
	for (struct target *t = g->targets; t; t = t->next) {
		if (t->ended)
			continue;
		log_warning("process %d did not stop collecting GPU data in time",
			    (int)t->peer.pid);
		end_target(t);
	}
}

int record_gpu_open_module(const struct record_gpu *g, unsigned int module)
{
	return g ? walk_publisher_open_module(g->publisher, module) : -ENOENT;
}

int record_gpu_open_root(const struct record_gpu *g, unsigned int module, size_t *ret_prefix)
{
	return g ? walk_publisher_open_root(g->publisher, module, ret_prefix) : -ENOENT;
}

void record_gpu_name_frames(const struct record_gpu *g, struct profile *vocabulary)
{
	for (const struct target *t = g ? g->targets : NULL; t; t = t->next)
		if (t->collect)
			gpu_collect_name_frames(t->collect, vocabulary);
}

void record_gpu_check(const struct record_gpu *g)
{
	if (g)
		gpu_guests_report(g->guests);
	if (g && !g->run_room) {
		log_warning("only %u runs of ranges were kept: sprof info counts the others",
			    MAX_RUNS);
		log_hint("record a part (-d, --capture-range); sums of ranges include all runs");
	}
	if (!g || g->opts.mode != GPU_ON || g->nr_targets)
		return;
	log_warning("no process has loaded " GPU_LIBRARY ": there is no GPU data");
	log_hint("CUDA loads it in cuInit(), NVTX at its first call; a statically linked or setuid "
		 "program cannot");
}
