/*
 * The memory of a hostile process with Python, as a reader of the source perf meets it: the walk
 * over its frames, the ring that the walk fills, and the merge of the frames with native ones. The
 * first byte is the version of Python, the second says how the rest serves as memory. Time passes
 * with each read and each look at the clock, so the budget of a sample is exact: nothing may be
 * read after it.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>

#include "core/portable/ring.h"
#include "sampler/perf/frame_walk.h"
#include "sampler/perf/perf_record.h"
#include "sampler/perf/reader_memory.h"
#include "sampler/runtimes/python/code_objects.h"
#include "sampler/runtimes/python/layout_table.h"
#include "sampler/runtimes/python/merge_frames.h"

#define FIRST_PID 0x40000000 /* above any limit of the kernel: /proc has no such process */
#define BASE 0x10000ull
#define RUNTIME BASE /* where the image begins, as _PyRuntime of Python 3.13 has to */
#define CODE_TYPE 0x20000ull
#define NR_NATIVE 32
#define NR_SAMPLES 2
#define LOOK_NS 100u
#define READ_NS 2000u
#define BUDGET_NS 26000000u /* of one sample: 20 ms to search, 5 ms to walk, and the last read */
#define MINOR_MAX (PYTHON_MAX_MINOR + 1)
#define TLS_OFFSET 0x700 /* from _PyRuntime, or from the thread pointer */

/* Of the second byte: the image repeats itself; each read sees other memory; enum py_tls. */
enum { WRAPS = 1, CHANGES = 2, TLS_SHIFT = 2, NR_TLS = 3 };

static struct {
	const uint8_t *image;
	size_t size;
	uint8_t kind;
	pid_t pid; /* another one for each input, so the walk knows nothing of the last */
	uint64_t clock_ns, nr_reads;
} memory = { .pid = FIRST_PID };

static struct reader_targets targets;
static struct reader_shared shared;

/* Instead of the one of libc, which process_memory.c calls. */
ssize_t process_vm_readv(pid_t pid, const struct iovec *local, unsigned long nr_local,
			 const struct iovec *remote, unsigned long nr_remote, unsigned long flags);
ssize_t process_vm_readv(pid_t pid, const struct iovec *local, unsigned long nr_local,
			 const struct iovec *remote, unsigned long nr_remote, unsigned long flags)
{
	uint64_t offset = (uint64_t)(uintptr_t)remote->iov_base - BASE;
	uint8_t *to = local->iov_base;
	size_t size = local->iov_len;

	if (pid != memory.pid || nr_local != 1 || nr_remote != 1 || flags ||
	    remote->iov_len != size)
		abort();
	memory.clock_ns += READ_NS;
	memory.nr_reads++;
	errno = EFAULT;
	if (!memory.size)
		return -1;
	if (memory.kind & CHANGES)
		offset += memory.nr_reads * 8;
	if (!(memory.kind & WRAPS) && (offset >= memory.size || size > memory.size - offset))
		return -1;
	for (size_t done = 0, n; done < size; done += n) {
		size_t from = (offset + done) % memory.size;

		n = memory.size - from < size - done ? memory.size - from : size - done;
		memcpy(to + done, memory.image + from, n);
	}
	return (ssize_t)size;
}

/* Instead of the one of libc: the time of the walk is that of its reads. */
int clock_gettime(clockid_t clock, struct timespec *ret)
{
	uint64_t now = memory.clock_ns += LOOK_NS;

	if (clock == CLOCK_REALTIME)
		return timespec_get(ret, TIME_UTC) == TIME_UTC ? 0 : -1;
	*ret = (struct timespec){ (time_t)(now / 1000000000u), (long)(now % 1000000000u) };
	return 0;
}

/* ---- what the recorder does with the records */

/* Merges the frames with a native stack of calls that may be those of the frames. */
static void merge(const struct py_layout *l, const uint64_t *words, size_t nr)
{
	uint64_t frames[NR_NATIVE], sps[NR_NATIVE], merged[NR_NATIVE + READER_MAX_WORDS];
	const struct native_stack native = { frames, sps, NR_NATIVE };
	const struct python_runs runs = {
		.words = words,
		.nr = nr,
		.eval_start = l->eval_start,
		.eval_size = l->eval_end - l->eval_start,
	};
	size_t leaf = 0;

	for (size_t i = 0; i < NR_NATIVE; i++) {
		frames[i] = i % 3 ? l->eval_start + i : 0x400000 + i;
		sps[i] = BASE + i * 64;
	}
	for (int complete = 0; complete < 2; complete++)
		if (python_merge_fits(&native, &runs, complete, &leaf) && leaf > NR_NATIVE)
			abort();
	for (size_t max = 0; max < NR_NATIVE + READER_MAX_WORDS; max = max * 4 + 3) {
		size_t got = python_merge(&native, &runs, merged, max);

		if (got > max)
			abort();
		if (got && python_merge_cut(merged, merged, got, got) != 0)
			abort();
	}
}

static void take_stack(const uint64_t *record, uint32_t nr)
{
	const size_t head_words = sizeof(struct reader_stack) / 8;
	struct reader_stack head;

	memcpy(&head, record + 2, sizeof(head));
	if (nr < 2 + head_words || head.pid != memory.pid || head.nr_words != nr - 2 - head_words ||
	    head.nr_words > READER_MAX_WORDS || head.read_ns < head.sampled_ns)
		abort();
	merge(&targets.layouts[0], record + 2 + head_words, head.nr_words);
}

static void take_code(struct python_codes *codes, const uint64_t *record, uint32_t nr)
{
	struct code_record code;

	memcpy(&code, record + 2, sizeof(code));
	if ((nr - 2) * 8 < sizeof(code) || code.linetable_copied > (nr - 2) * 8 - sizeof(code) ||
	    code.linetable_copied > CODE_MAX_LINETABLE || code.name.size > CODE_NAME_SIZE ||
	    code.file.size > CODE_NAME_SIZE || !code.id || code.id & ~CODE_ID_MASK)
		abort();
	python_codes_add(codes, memory.pid, (const struct code_record *)(record + 2), (nr - 2) * 8);
}

/* The reader is ours, so all it sends is whole. Returns how many stacks came. */
static int take_records(struct python_codes *codes)
{
	uint64_t record[RING_MAX_RECORD];
	int nr_stacks = 0;
	uint32_t nr;

	while (shared.ring.tail != shared.ring.head) {
		if (ring_peek(&shared.ring, (__u64 *)shared.words, READER_RING_WORDS,
			      shared.ring.tail, &nr) != RING_RECORD)
			abort();
		for (uint32_t i = 0; i < nr; i++)
			record[i] = ring_get((__u64 *)shared.words, READER_RING_WORDS,
					     shared.ring.tail + i);
		if (READER_PID(record[1]) != (uint32_t)memory.pid)
			abort();
		if (READER_KIND(record[1]) == READER_CODE)
			take_code(codes, record, nr);
		else if (READER_KIND(record[1]) == READER_STACK)
			take_stack(record, nr);
		else
			abort();
		nr_stacks += READER_KIND(record[1]) == READER_STACK;
		ring_release(&shared.ring, shared.ring.tail + nr);
	}
	return nr_stacks;
}

/* From 3.13 on the interpreter describes itself, at the start of the image. */
static bool set_layout(unsigned int minor)
{
	uint64_t debug[PYTHON_DEBUG_WORDS] = { 0 };
	struct py_layout *l = &targets.layouts[0];
	char why[200];

	memcpy(debug, memory.image, memory.size < sizeof(debug) ? memory.size : sizeof(debug));
	if (python_layout_fill(l, minor, debug, why, sizeof(why)))
		return false;
	l->runtime = RUNTIME;
	l->code_type = CODE_TYPE;
	if (!l->tss_key) {
		l->tls_offset = TLS_OFFSET;
		l->tls = (memory.kind >> TLS_SHIFT) % NR_TLS;
	}
	l->eval_start = 0x500000;
	l->eval_end = 0x500010;
	targets.nr = 1;
	targets.pids[0] = memory.pid;
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct frame_walk *walk;
	struct perf_record sample = { 0 };
	struct python_codes *codes;

	if (!walk)
		walk = calloc(1, frame_walk_size());
	if (size < 2)
		return 0;
	memory.image = data + 2;
	memory.size = size - 2;
	memory.kind = data[1];
	memory.clock_ns += 1000000000u;
	memory.nr_reads = 0;
	memory.pid++;
	if (!set_layout(PYTHON_MIN_MINOR + data[0] % (MINOR_MAX - PYTHON_MIN_MINOR + 1)))
		return 0;
	shared.ring = (struct ring){ 0 };
	codes = python_codes_new(NULL);
	frame_walk_init(walk, &targets, &shared, data[1] >> 4);
	for (int i = 0; i < NR_SAMPLES; i++) {
		uint64_t before;

		memory.clock_ns += 1000000000u; /* all of the allowance is saved up again */
		before = memory.clock_ns;
		sample.pid = memory.pid;
		sample.tid = 1 + i;
		sample.time_ns = memory.clock_ns;
		frame_walk_sample(walk, &sample, data[1] & 1);
		if (memory.clock_ns - before > BUDGET_NS || take_records(codes) > 1)
			abort();
	}
	python_codes_free(codes);
	return 0;
}
