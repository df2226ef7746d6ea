/*
 * Counts calls exactly, beside whatever takes samples: a probe (uprobe) at the first instruction of native
 * functions, and CPython's own probes (USDT) at the entry of Python functions, and around imports and garbage
 * collections, which are timed. Each counted call
 * costs the program 0.5 to 1 us, 10 to 25 us where the kernel cannot emulate the instruction under the probe.
 *
 * Needs what the eBPF source needs.
 */
#ifndef SPROF_CALL_COUNTS_H
#define SPROF_CALL_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct call_counts;

/* Loads the BPF program; counts calls of added processes, or of all. 0 or -errno, reported. */
int call_counts_new(bool system_wide, struct call_counts **ret_probes);
void call_counts_free(struct call_counts *probes); /* NULL is fine; takes all probes out */

/* From now on this process is counted, with those that it forks. 0 or -errno. */
int call_counts_add_process(struct call_counts *probes, pid_t pid);
/* The next process that is counted, after `pid` (0: the first); 0: there is none. */
pid_t call_counts_next_process(const struct call_counts *probes, pid_t pid);

/* How many programs the counted processes have started so far: there are new files then. */
uint64_t call_counts_nr_execs(const struct call_counts *probes);

/*
 * Puts probes at those offsets of the file at fd, in every process that maps it or will. ret_probes[i] is the number of
 * the i-th, counting from 0 over all calls of this, those that are refused too, or -errno: -ENOSPC where there are too many, -EOPNOTSUPP
 * where a probe would change what the program does. Where the kernel has no
 * links of many probes (before 6.6), taking them out again takes 0.1 s each.
 */
void call_counts_attach(struct call_counts *probes, int fd, const uint64_t *offsets, size_t nr,
			int *ret_probes);

/* What CPython's own probes tell. */
enum call_counts_event {
	CALL_PROBES_FUNCTIONS, /* each call of a Python function: function__entry */
	CALL_PROBES_GC,	       /* garbage collections: gc__start, gc__done */
	CALL_PROBES_IMPORTS,   /* import__find__load__start, import__find__load__done */
	NR_CALL_PROBES_EVENTS
};

enum call_counts_python {
	CALL_PROBES_NO_PYTHON,	  /* not an interpreter */
	CALL_PROBES_PYTHON,	  /* counted from now on */
	CALL_PROBES_NOT_BUILT_IN, /* without --with-dtrace, or of a version that has no such probe */
	CALL_PROBES_NOT_EACH,	  /* 3.11: it does not pass function__entry at each call */
	CALL_PROBES_FAILED,	  /* reported with -v */
};

enum call_counts_python call_counts_attach_python(struct call_counts *probes, int fd,
						  enum call_counts_event event);

/* What is called from begin_ns up to end_ns (CLOCK_MONOTONIC) is counted; nothing before this. */
void call_counts_start(struct call_counts *probes, uint64_t begin_ns, uint64_t end_ns);

/* How often the function under that probe was called. */
uint64_t call_counts_count(const struct call_counts *probes, uint32_t probe);

/* A Python function and its calls, in one process; strings are good until the call returns. */
typedef void call_counts_fn(void *context, const char *file, const char *name, uint32_t line,
			    uint64_t calls);
void call_counts_each_python(const struct call_counts *probes, call_counts_fn *fn, void *context);

/* The collections of a process and a generation (0, 1, 2; 3 is what a later version may have). */
struct gc_key;
struct gc_sum;
typedef void call_counts_gc_fn(void *context, const struct gc_key *key, const struct gc_sum *sum);
void call_counts_each_gc(const struct call_counts *probes, call_counts_gc_fn *fn, void *context);

/* Hands over imports that began or ended since the last call, in the order of their times in each thread. */
struct import_event;
typedef void call_counts_import_fn(void *context, const struct import_event *event);
void call_counts_read_imports(struct call_counts *probes, call_counts_import_fn *fn, void *context);

/* How many calls, collections and imports of Python there was no room for. */
uint64_t call_counts_nr_left_out(const struct call_counts *probes);

#endif
