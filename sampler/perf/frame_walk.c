/*
 * The walk of core/portable/pyruns.h over another process's memory. Memory is read in blocks, which
 * are valid for one stack: while its thread stands still its frames and their code do not change.
 */
#include "sampler/perf/frame_walk.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/proc_status.h"
#include "core/untrusted/process_memory.h"
#include "core/portable/pyruns.h"
#include "sampler/perf/perf_record.h"
#include "sampler/perf/reader_memory.h"
#include "sampler/runtimes/python/thread_pointers.h"

#define LIMIT_NS 5000000u	  /* of one stack: the target waits for the CPU meanwhile */
#define SEARCH_LIMIT_NS 20000000u /* of the search for a thread's state, once a thread */
#define SHARE 8			  /* a reader has at most 1 / this of its CPU's time, */
#define SAVED_NS 20000000	  /* and may save up so much of it */
#define STALE_NS 40000000u	  /* the recorder waits no longer for what is read */
#define BLOCK 2048u
#define BLOCKS 256u	    /* power of two */
#define THREADS 4096u	    /* power of two */
#define RETRY_NS 200000000u /* a thread without a state is searched for again */
#define MAX_RUNS 1024
#define MAX_STACK 65536u /* bytes that a sample can copy */

struct known_thread {
	int32_t pid, tid, own_tid; /* own_tid: in its PID namespace */
	uint32_t turn;		   /* of its process's layout */
	uint64_t pointer;	   /* 0: it has no state */
	uint64_t searched_ns;
};

struct frame_walk {
	struct py_runs runs; /* first: py_read() is given its walk */
	const struct reader_targets *targets;
	struct reader_shared *shared;
	size_t cpu_index;
	uint32_t forgotten;
	uint64_t nr_codes;
	/* the sample being read */
	struct reader_stack stack;
	struct py_layout layout;
	uint64_t deadline_ns;
	int64_t allowance_ns; /* below 0: what it took too much */
	uint64_t allowed_at_ns;
	bool late;
	struct {
		uint64_t address; /* 0: none */
		bool readable;
		uint8_t bytes[BLOCK];
	} blocks[BLOCKS];
	uint64_t words[READER_MAX_WORDS];
	uint8_t c_stack[MAX_STACK];
	struct code_record code;
	uint8_t linetable[CODE_MAX_LINETABLE];
	/* kept */
	struct known_thread threads[THREADS];
	struct code_slot slots[CODE_SLOTS];
};

size_t frame_walk_size(void)
{
	return sizeof(struct frame_walk);
}

void frame_walk_init(struct frame_walk *r, const struct reader_targets *targets,
		     struct reader_shared *shared, size_t cpu_index)
{
	r->targets = targets;
	r->shared = shared;
	r->cpu_index = cpu_index;
	r->allowance_ns = SAVED_NS;
	r->allowed_at_ns = monotonic_ns();
}

/* After the deadline nothing is read, so whatever the target shows ends all loops over it. */
static bool read_directly(struct frame_walk *r, void *to, size_t size, uint64_t address)
{
	const struct iovec range = { (void *)address, size };

	r->late = r->late || monotonic_ns() > r->deadline_ns;
	return !r->late && process_memory_read(r->stack.pid, to, &range, 1) == (int64_t)size;
}

/* While the thread stands still its frames do not change, so what was read is kept. */
static int read_memory(struct frame_walk *r, void *to, size_t size, uint64_t address)
{
	uint64_t block = address & ~(uint64_t)(BLOCK - 1);
	size_t i = block / BLOCK & (BLOCKS - 1);

	if (!size)
		return 0;
	if (!address || address >= WALK_USER_END)
		return -1;
	if ((address & (BLOCK - 1)) + size > BLOCK)
		return read_directly(r, to, size, address) ? 0 : -1;
	if (r->blocks[i].address != block) {
		r->blocks[i].readable = read_directly(r, r->blocks[i].bytes, BLOCK, block);
		r->blocks[i].address = block;
	}
	if (!r->blocks[i].readable)
		return -1;
	memcpy(to, r->blocks[i].bytes + (address - block), size);
	return 0;
}

static __always_inline int py_read(const struct py_walk *w, void *to, __u32 size, __u64 address)
{
	return read_memory((struct frame_walk *)w, to, size, address);
}

static int read_for_list(void *context, void *to, uint32_t size, uint64_t address)
{
	return read_memory(context, to, size, address);
}

/*
 * Reserves a record of the ring: its kind, the process, and nr words more. false: there is no room.
 */
static bool begin_record(const struct frame_walk *r, enum reader_record kind, uint32_t nr,
			 uint64_t *ret_at)
{
	struct reader_shared *to = r->shared;

	if (ring_reserve(&to->ring, (__u64 *)to->words, READER_RING_WORDS, nr + 2, (__u64 *)ret_at))
		return false;
	ring_put((__u64 *)to->words, READER_RING_WORDS, *ret_at + 1,
		 READER_WORD(kind, r->stack.pid));
	return true;
}

static void put(const struct frame_walk *r, uint64_t at, const void *from, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		uint64_t word;

		memcpy(&word, (const uint8_t *)from + i * 8, 8);
		ring_put((__u64 *)r->shared->words, READER_RING_WORDS, at + i, word);
	}
}

static void commit(const struct frame_walk *r, uint64_t at, uint32_t nr)
{
	ring_commit((__u64 *)r->shared->words, READER_RING_WORDS, at, nr + 2);
}

static bool send_code(struct frame_walk *r)
{
	const uint32_t max = (RING_MAX_RECORD - 2) * 8 - (uint32_t)sizeof(r->code);
	uint32_t size = r->code.linetable_size, nr_words;
	uint64_t at;

	size = size < CODE_MAX_LINETABLE ? size : CODE_MAX_LINETABLE;
	size = size < max ? size : max;
	memset(r->linetable, 0, (size + 7) & ~7u);
	if (!size || !read_directly(r, r->linetable, size, r->code.address))
		size = 0;
	r->code.linetable_copied = size;
	nr_words = (uint32_t)sizeof(r->code) / 8 + (size + 7) / 8;
	if (!begin_record(r, READER_CODE, nr_words, &at))
		return false;
	put(r, at + 2, &r->code, sizeof(r->code) / 8);
	put(r, at + 2 + sizeof(r->code) / 8, r->linetable, (size + 7) / 8);
	commit(r, at, nr_words);
	return true;
}

static void send_stack(struct frame_walk *r)
{
	const uint32_t head = (uint32_t)sizeof(r->stack) / 8;
	uint64_t at;

	if (!begin_record(r, READER_STACK, head + r->stack.nr_words, &at))
		return;
	put(r, at + 2, &r->stack, head);
	put(r, at + 2 + head, r->words, r->stack.nr_words);
	commit(r, at, head + r->stack.nr_words);
}

/* ---- what the walk over Python frames asks */

static __always_inline int py_is_spent(struct py_runs *runs, void *home)
{
	struct frame_walk *r = home;

	(void)runs;
	r->late = r->late || monotonic_ns() > r->deadline_ns;
	return r->late;
}

static __always_inline __u64 py_known_code(const struct py_layout *l, struct py_runs *runs,
					   void *home)
{
	(void)l;
	(void)runs;
	(void)home;
	return 0;
}

static __always_inline __u64 py_code_id(const struct py_layout *l, struct py_runs *runs, void *home)
{
	struct frame_walk *r = home;
	uint64_t key = py_code_print(l, runs, (uint32_t)r->stack.pid), id;
	struct code_slot *slot = &r->slots[key & (CODE_SLOTS - 1)];

	id = py_slot_id(slot, key);
	if (id)
		return id;
	memset(&r->code, 0, sizeof(r->code));
	r->code.id =
		((uint64_t)r->cpu_index << 26 | (++r->nr_codes & ((1u << 26) - 1))) & CODE_ID_MASK;
	py_fill_code(l, &runs->walk, &r->code);
	if (!send_code(r))
		return 0;
	py_slot_fill(slot, key, r->code.id);
	return r->code.id;
}

static void add_word(struct frame_walk *r, uint64_t word)
{
	if (r->stack.nr_words < READER_MAX_WORDS - 64)
		r->words[r->stack.nr_words++] = word;
	else
		r->late = true;
}

static __always_inline void py_keep_frame(void *home, __u64 frame)
{
	add_word(home, frame);
}

static __attribute__((noinline)) int take_frame(struct frame_walk *r)
{
	return py_take_frame(&r->layout, &r->runs, r);
}

static __always_inline void py_take_frames(const struct py_layout *l, struct py_runs *runs,
					   void *home)
{
	(void)l;
	for (uint32_t i = 0; i < PY_MAX_RUN; i++)
		if (take_frame(home))
			return;
	runs->walk.broken = 1;
	runs->walk.frame = 0;
}

/* The number of a thread in its own PID namespace. */
static int32_t own_tid(int32_t tid)
{
	int nr_namespaces;
	pid_t own = proc_status_inner(tid, &nr_namespaces);

	return own ? own : tid;
}

static uint64_t find_thread(struct frame_walk *r, uint32_t turn)
{
	struct known_thread *t = &r->threads[(uint32_t)r->stack.tid & (THREADS - 1)];
	uint64_t now = monotonic_ns();
	struct python_thread_list list;

	if (t->pid == r->stack.pid && t->tid == r->stack.tid && t->turn == turn) {
		if (t->pointer ? python_thread_pointer_is(t->pointer, t->own_tid, read_for_list, r)
			       : now - t->searched_ns < RETRY_NS)
			return t->pointer;
	}
	*t = (struct known_thread){
		.pid = r->stack.pid,
		.tid = r->stack.tid,
		.own_tid = own_tid(r->stack.tid),
		.turn = turn,
		.searched_ns = now,
	};
	if (!python_thread_list_fill(&list, &r->layout, read_for_list, r))
		t->pointer = python_thread_pointer(&list, &r->layout, t->own_tid, read_for_list, r);
	return t->pointer;
}

static void walk(struct frame_walk *r, uint64_t thread_pointer)
{
	struct py_runs *runs = &r->runs;
	int has_frames;

	py_clear_runs(runs);
	runs->lost = 0;
	has_frames = py_begin_runs(&r->layout, runs, thread_pointer);
	r->stack.known = runs->walk.thread != 0;
	r->stack.gil = (uint8_t)py_gil(&r->layout, &runs->walk);
	for (int i = 0; i < MAX_RUNS && has_frames; i++) {
		py_next_run(&r->layout, runs, r);
		if (!runs->nr)
			break;
		add_word(r, runs->walk.boundary);
		for (uint32_t k = 0; k < runs->nr && k < PY_RUN_WORDS; k++)
			add_word(r, runs->words[k]);
		py_keep_rest(&r->layout, runs, r);
	}
	r->stack.broken = py_runs_broken(runs) || runs->lost || runs->spent || r->late;
}

/* The layout of the sampled process. false: it runs no Python. */
static bool take_layout(struct frame_walk *r, uint32_t *ret_turn)
{
	const struct reader_targets *t = r->targets;
	uint32_t nr = __atomic_load_n(&t->nr, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < nr && i < READER_PROCESSES; i++) {
		if (__atomic_load_n(&t->pids[i], __ATOMIC_ACQUIRE) != r->stack.pid)
			continue;
		*ret_turn = __atomic_load_n(&t->turns[i], __ATOMIC_ACQUIRE);
		r->layout = t->layouts[i];
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		return !(*ret_turn & 1) && r->layout.chain != PY_CHAIN_NONE &&
		       __atomic_load_n(&t->turns[i], __ATOMIC_RELAXED) == *ret_turn;
	}
	return false;
}

int64_t frame_walk_allowance(int64_t before_ns, uint64_t passed_ns, uint64_t used_ns)
{
	int64_t now_ns = before_ns + (int64_t)(passed_ns / SHARE);

	return (now_ns < SAVED_NS ? now_ns : SAVED_NS) - (int64_t)used_ns;
}

bool frame_walk_stack_is(pid_t pid, const struct perf_sample *sample, void *room)
{
	const struct iovec range = { (void *)sample->gpr[WALK_REG_SP], sample->stack_size };

	return range.iov_len &&
	       process_memory_read(pid, room, &range, 1) == (int64_t)range.iov_len &&
	       !memcmp(room, sample->stack, range.iov_len);
}

/* Nearly all that an interpreter does changes words of its C stack. */
static bool stands_where_sampled(struct frame_walk *r, const struct perf_sample *sample)
{
	return sample->stack_size <= MAX_STACK &&
	       frame_walk_stack_is(r->stack.pid, sample, r->c_stack);
}

void frame_walk_sample(struct frame_walk *r, const struct perf_record *sample, bool at_once)
{
	struct reader_shared *shared = r->shared;
	uint64_t now = monotonic_ns(), thread_pointer;
	uint32_t forget = __atomic_load_n(&r->targets->forget, __ATOMIC_RELAXED), turn;

	r->stack = (struct reader_stack){
		.pid = sample->pid,
		.tid = sample->tid,
		.sampled_ns = sample->time_ns,
	};
	r->allowance_ns = frame_walk_allowance(r->allowance_ns, now - r->allowed_at_ns, 0);
	r->allowed_at_ns = now;
	if (now - sample->time_ns > STALE_NS || !take_layout(r, &turn) || r->allowance_ns <= 0)
		return;
	if (forget != r->forgotten) {
		memset(r->slots, 0, sizeof(r->slots));
		r->forgotten = forget;
	}
	for (size_t i = 0; i < BLOCKS; i++)
		r->blocks[i].address = 0;
	r->deadline_ns = now + SEARCH_LIMIT_NS;
	r->late = false;
	shared->busy_pid = r->stack.pid;
	__atomic_store_n(&shared->busy_ns, now, __ATOMIC_RELEASE);
	thread_pointer = find_thread(r, turn);
	r->stack.gil = r->layout.gil_holder ? PY_GIL_NO_THREAD : PY_GIL_UNKNOWN;
	r->deadline_ns = monotonic_ns() + LIMIT_NS;
	r->stack.late = !at_once;
	if (thread_pointer && stands_where_sampled(r, &sample->sample))
		walk(r, thread_pointer);
	else if (thread_pointer)
		r->stack.known = r->stack.broken = true;
	r->stack.broken |= r->late;
	r->stack.read_ns = monotonic_ns();
	__atomic_store_n(&shared->busy_ns, 0, __ATOMIC_RELEASE);
	r->allowance_ns = frame_walk_allowance(r->allowance_ns, 0, r->stack.read_ns - now);
	send_stack(r);
}
