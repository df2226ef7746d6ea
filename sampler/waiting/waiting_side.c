/*
 * Loads the programs beside those of the main object (shared_maps.h): a tick may interrupt the walk
 * of a wait at any place.
 */
#include "sampler/waiting/waiting_side.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/base/clock.h"
#include "core/base/cpus.h"
#include "core/base/log.h"
#include "core/base/number_map.h"
#include "sampler/bpf/events.h"
#include "sampler/bpf/sprof.skel.h"
#include "sampler/bpf/waiting.skel.h"
#include "sampler/waiting/guarded_iterator.h"
#include "sampler/waiting/program_cost.h"
#include "sampler/waiting/shared_maps.h"
#include "sampler/waiting/waiting_way.h"
#include "sampler/waiting/wakers_side.h"

/*
 * Waits of 1 ms and more are all sampled, as long as there are no more than that many in a second,
 * of all CPUs, and these take no more than half a percent of any CPU: a sample takes 3 us, or 15 us
 * where the thread has found the caches cold.
 */
#define PERIOD_NS (1000ull * 1000)
#define SAMPLES_PER_S 2000
#define SAMPLES_NS_PER_S (5000ull * 1000)
#define WINDOWS_PER_S 10
#define ADAPT_NS (250ull * 1000 * 1000)
#define MAX_LINKS 6
#define LAST_STACKS_NS (1000ull * 1000 * 1000) /* for which copies of stacks may sleep at the end */

struct waiting_side {
	struct waiting_bpf *skel;
	struct wakers_side *wakers; /* NULL: not asked for */
	struct waiting_kernel kernel;
	struct bpf_link *links[MAX_LINKS];
	size_t nr_links;
	struct bpf_link *watch, *tell_times, *tell; /* iterators over all threads */
	struct bpf_link *tell_stacks; /* one that may sleep; NULL: the kernel has none */
	struct bpf_link *unwatch;     /* at the end of a thread; attached until all are told */
	int *events;		      /* perf events that interrupt their CPU */
	void **rings;
	size_t nr_events;
	bool started, has_new_targets;
	uint64_t least_period_ns;
	uint64_t adapted_ns, nr_drawn;
};

static void copy_settings(struct waiting_side *w, const struct sprof_bpf *main)
{
	struct waiting_bpf__rodata *to = w->skel->rodata;
	const struct sprof_bpf__rodata *from = main->rodata;
	uint32_t nr_cpus = (uint32_t)libbpf_num_possible_cpus();

	SHARED_SETTINGS(to, from);
	to->no_children = from->no_children;
	to->recorder = from->recorder;
	to->wakeup_bytes = from->wakeup_bytes;
	to->first_giver = nr_cpus;
	to->interrupts_itself = w->kernel.way == WAITING_BY_INTERRUPT;
	to->max_in_window = SAMPLES_PER_S / WINDOWS_PER_S;
	to->max_ns_in_window = SAMPLES_NS_PER_S / WINDOWS_PER_S;
	w->skel->bss->period_ns = w->least_period_ns;
	bpf_map__set_max_entries(w->skel->maps.states, nr_cpus);
	bpf_map__set_max_entries(w->skel->maps.snapshots, nr_cpus);
	bpf_map__set_max_entries(w->skel->maps.code_buffers, nr_cpus);
	bpf_map__set_max_entries(w->skel->maps.self_interrupts, nr_cpus);
}

static void choose_programs(struct waiting_side *w)
{
	bool at_end = w->kernel.way == WAITING_AT_SWITCH_END;
	bool has_state = w->kernel.switch_has_state, stacks = w->kernel.reads_other_stacks;

	bpf_program__set_autoload(w->skel->progs.after_switch, at_end);
	bpf_program__set_autoload(w->skel->progs.on_self_interrupt, !at_end);
	bpf_program__set_autoload(w->skel->progs.at_switch, has_state);
	bpf_program__set_autoload(w->skel->progs.at_switch_without_state, !has_state);
	bpf_program__set_autoload(w->skel->progs.tell_threads_with_stacks, stacks);
	bpf_program__set_autoload(w->skel->progs.tell_threads, true);
}

static size_t ring_size(void)
{
	return 2 * (size_t)sysconf(_SC_PAGESIZE);
}

/* An event per CPU that only interrupts: its pages are overwritten and never read. */
static int open_interrupts(struct waiting_side *w)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_BPF_OUTPUT,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_RAW,
		.wakeup_events = 1,
	};
	int map = bpf_map__fd(w->skel->maps.self_interrupts);
	int *cpus, err = cpus_online(&cpus, &w->nr_events);

	if (err)
		return err;
	w->events = xcalloc(w->nr_events, sizeof(*w->events));
	w->rings = xcalloc(w->nr_events, sizeof(*w->rings));
	for (size_t i = 0; i < w->nr_events; i++)
		w->events[i] = -1;
	for (size_t i = 0; i < w->nr_events && !err; i++) {
		int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpus[i], -1,
				      PERF_FLAG_FD_CLOEXEC);

		if (fd < 0) {
			err = errno == ENODEV ? 0 : -errno; /* went offline just now */
			continue;
		}
		w->events[i] = fd;
		w->rings[i] = mmap(NULL, ring_size(), PROT_READ, MAP_SHARED, fd, 0);
		if (w->rings[i] == MAP_FAILED)
			w->rings[i] = NULL;
		if (!w->rings[i] || bpf_map_update_elem(map, &cpus[i], &fd, BPF_ANY))
			err = -errno;
	}
	free(cpus);
	return err;
}

int waiting_side_new(const struct sprof_bpf *main, uint64_t period_ns, bool wakers,
		     struct waiting_side **ret)
{
	struct waiting_side *w = xcalloc(1, sizeof(*w));
	int err;

	w->least_period_ns = period_ns ? period_ns : PERIOD_NS;
	waiting_kernel_examine(&w->kernel);
	w->skel = w->kernel.way == WAITING_CANNOT ? NULL : waiting_bpf__open();
	err = w->skel				? shared_maps_of_walks(w->skel->obj, main->obj)
	      : w->kernel.way == WAITING_CANNOT ? -ENOTSUP
						: -errno;
	if (!err) {
		copy_settings(w, main);
		choose_programs(w);
		err = waiting_bpf__load(w->skel);
	}
	if (!err && w->kernel.way == WAITING_BY_INTERRUPT)
		err = open_interrupts(w);
	if (!err && wakers)
		err = wakers_side_new(main, w->skel, &w->wakers);
	if (err)
		waiting_side_free(w);
	else
		*ret = w;
	return err;
}

static void detach(struct waiting_side *w)
{
	while (w->nr_links)
		bpf_link__destroy(w->links[--w->nr_links]);
}

void waiting_side_free(struct waiting_side *w)
{
	if (!w)
		return;
	detach(w);
	wakers_side_free(w->wakers);
	bpf_link__destroy(w->unwatch);
	bpf_link__destroy(w->watch);
	bpf_link__destroy(w->tell_times);
	bpf_link__destroy(w->tell);
	bpf_link__destroy(w->tell_stacks);
	for (size_t i = 0; i < w->nr_events; i++) {
		if (w->rings && w->rings[i])
			munmap(w->rings[i], ring_size());
		if (w->events && w->events[i] >= 0)
			close(w->events[i]);
	}
	free(w->rings);
	free(w->events);
	waiting_bpf__destroy(w->skel);
	free(w);
}

static int attach(struct waiting_side *w, const struct bpf_program *program)
{
	struct bpf_link *link = bpf_program__attach(program);

	if (!link)
		return -errno;
	w->links[w->nr_links++] = link;
	return 0;
}

static int attach_iterator(const struct bpf_program *program, struct bpf_link **ret)
{
	*ret = bpf_program__attach_iter(program, NULL);
	return *ret ? 0 : -errno;
}

void waiting_side_watch(struct waiting_side *w, pid_t pid)
{
	__u64 *word =
		&w->skel->bss->watched[(size_t)pid >> 6 & (sizeof(w->skel->bss->watched) / 8 - 1)];
	uint64_t bit = 1ull << (pid & 63);

	/* The kernel side sets bits of this word, too. */
	if (!(__atomic_fetch_or(word, bit, __ATOMIC_RELAXED) & bit))
		w->has_new_targets = true;
}

static int watch_threads(struct waiting_side *w)
{
	int fd = bpf_iter_create(bpf_link__fd(w->watch)), err = fd < 0 ? -errno : 0;
	char nothing[64];

	w->has_new_targets = false;
	while (!err && guarded_iterator_goes_on(read(fd, nothing, sizeof(nothing))))
		;
	if (fd >= 0)
		close(fd);
	return err;
}

int waiting_side_start(struct waiting_side *w)
{
	int err = attach_iterator(w->skel->progs.watch_threads, &w->watch);

	err = err ? err : attach_iterator(w->skel->progs.tell_times, &w->tell_times);
	err = err ? err : attach_iterator(w->skel->progs.tell_threads, &w->tell);
	if (!err && w->kernel.reads_other_stacks)
		err = attach_iterator(w->skel->progs.tell_threads_with_stacks, &w->tell_stacks);
	if (!err)
		err = attach(w, w->kernel.way == WAITING_AT_SWITCH_END
					? w->skel->progs.after_switch
					: w->skel->progs.on_self_interrupt);
	if (!err)
		err = attach(w, w->kernel.switch_has_state
					? w->skel->progs.at_switch
					: w->skel->progs.at_switch_without_state);
	err = err ? err : attach(w, w->skel->progs.watch_new_thread);
	err = err ? err : attach(w, w->skel->progs.watch_started_program);
	if (!err) {
		w->unwatch = bpf_program__attach(w->skel->progs.unwatch_thread);
		err = w->unwatch ? 0 : -errno;
	}
	if (!err && w->wakers)
		err = wakers_side_start(w->wakers);
	w->started = !err;
	return err ? err : watch_threads(w);
}

/*
 * The kernel side doubles the period where a CPU has too many samples. Here it is doubled if all
 * CPUs together have, and halved if there are few, and no CPU has spent much of its time on them.
 */
static uint64_t next_period(const struct waiting_side *w, uint64_t period, uint64_t in_second,
			    bool is_busy)
{
	if (in_second > SAMPLES_PER_S && period <= MAX_WAIT_PERIOD_NS / 2)
		return period * 2;
	if (in_second >= SAMPLES_PER_S / 3 || is_busy || period <= w->least_period_ns)
		return period;
	return period / 2 > w->least_period_ns ? period / 2 : w->least_period_ns;
}

static void adapt_period(struct waiting_side *w, uint64_t now_ns)
{
	__u64 *period = &w->skel->bss->period_ns, next;
	uint64_t nr = __atomic_load_n(&w->skel->bss->nr_drawn, __ATOMIC_RELAXED);
	uint64_t busy_ns = __atomic_load_n(&w->skel->bss->busy_ns, __ATOMIC_RELAXED);
	uint64_t passed = now_ns - w->adapted_ns;

	if (passed < ADAPT_NS)
		return;
	if (w->adapted_ns) {
		next = next_period(w, *period, (nr - w->nr_drawn) * 1000000000 / passed,
				   busy_ns >= w->adapted_ns);
		if (next != *period)
			*period = next;
	}
	w->adapted_ns = now_ns;
	w->nr_drawn = nr;
}

void waiting_side_poll(struct waiting_side *w, uint64_t now_ns)
{
	if (!w->started)
		return;
	if (w->has_new_targets)
		watch_threads(w);
	adapt_period(w, now_ns);
}

uint64_t waiting_side_cost_ns(const struct waiting_side *w)
{
	return program_cost_ns(w->skel->obj) + wakers_side_cost_ns(w->wakers);
}

uint64_t waiting_side_memory_bytes(const struct waiting_side *w, const struct bpf_object *main)
{
	return program_memory_bytes(w->skel->obj, main) + wakers_side_memory_bytes(w->wakers, main);
}

void waiting_side_allow_copies(struct waiting_side *w, int32_t nr, int32_t max)
{
	int32_t *left = &w->skel->bss->copies_left, now = __atomic_load_n(left, __ATOMIC_RELAXED);

	now = now < 0 ? nr : now + nr;
	__atomic_store_n(left, now < max ? now : max, __ATOMIC_RELAXED);
}

void waiting_side_stop(struct waiting_side *w)
{
	if (!w->started)
		return;
	w->started = false;
	__atomic_store_n(&w->skel->bss->end_ns, monotonic_ns(), __ATOMIC_RELEASE);
	if (w->wakers)
		wakers_side_stop(w->wakers);
	detach(w);
}

/* The size of the record that `data` begins with; 0: not all of it is there. */
static size_t record_size(const uint8_t *data, size_t size)
{
	struct event_header h;
	struct snapshot_event e;
	size_t whole;

	if (size < sizeof(h))
		return 0;
	memcpy(&h, data, sizeof(h));
	if (h.type == EVENT_THREAD)
		return size < sizeof(struct thread_event) ? 0 : sizeof(struct thread_event);
	if (size < sizeof(e))
		return 0;
	memcpy(&e, data, sizeof(e));
	whole = sizeof(e) + e.stack_size;
	return size < whole ? 0 : whole;
}

struct telling {
	int (*fn)(void *context, void *record, size_t size);
	void *context;
	struct number_map told; /* threads */
	bool again;		/* those that are told already are left out */
	struct buffer pending;	/* the beginning of a record */
};

static uint32_t thread_of(const void *record)
{
	const struct event_header *h = record;

	return h->type == EVENT_THREAD ? ((const struct thread_event *)record)->tid
				       : ((const struct snapshot_event *)record)->sample.tid;
}

/* A thread's own record comes before that of its wait. */
static void tell(struct telling *t, const uint8_t *data, size_t size)
{
	/* Copied, because records in the buffer are not aligned. */
	void *record = memcpy(xmalloc(size), data, size);
	bool is_new;
	uint32_t *told = number_map_at(&t->told, thread_of(record), &is_new);

	if (!t->again)
		*told = 1;
	if (!t->again || !*told)
		t->fn(t->context, record, size);
	free(record);
}

static void take_piece(void *context, const void *bytes, size_t nr)
{
	struct telling *t = context;
	struct buffer *b = &t->pending;
	size_t done = 0, size;

	buffer_add(b, bytes, nr);
	while ((size = record_size((uint8_t *)b->data + done, b->size - done))) {
		tell(t, (uint8_t *)b->data + done, size);
		done += size;
	}
	memmove(b->data, b->data + done, b->size - done);
	b->size -= done;
}

/* Reads the stacks of waits, too. false: not all threads were told. */
static bool tell_with_stacks(struct waiting_side *w, struct telling *t)
{
	int fd = w->tell_stacks ? bpf_iter_create(bpf_link__fd(w->tell_stacks)) : -1, err;

	if (fd < 0)
		return false;
	err = guarded_iterator_read(fd, LAST_STACKS_NS, take_piece, t);
	close(fd);
	if (err)
		log_warning("not all stacks of threads that wait at the end could be read: %s",
			    strerror(-err));
	t->pending.size = 0;
	t->again = true;
	return !err;
}

static void read_all(const struct bpf_link *iterator, struct telling *t)
{
	int fd = iterator ? bpf_iter_create(bpf_link__fd(iterator)) : -1;
	char piece[8192];
	ssize_t n;

	while (fd >= 0 && guarded_iterator_goes_on(n = read(fd, piece, sizeof(piece))))
		if (n > 0)
			take_piece(t, piece, (size_t)n);
	if (fd >= 0)
		close(fd);
}

void waiting_side_tell_times(struct waiting_side *w,
			     int (*fn)(void *context, void *record, size_t size), void *context)
{
	struct telling t = { .fn = fn, .context = context };

	if (w->started)
		read_all(w->tell_times, &t);
	number_map_fini(&t.told);
	buffer_fini(&t.pending);
}

void waiting_side_tell(struct waiting_side *w, int (*fn)(void *context, void *record, size_t size),
		       void *context)
{
	struct telling t = { .fn = fn, .context = context };

	if (!tell_with_stacks(w, &t))
		read_all(w->tell, &t);
	number_map_fini(&t.told);
	buffer_fini(&t.pending);
	bpf_link__destroy(w->unwatch);
	w->unwatch = NULL;
}
