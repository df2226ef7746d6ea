/*
 * Counts calls exactly, beside any source of samples: by a probe (uprobe) at the first instruction
 * of native functions, and by CPython's own probes (USDT) at the entry of Python functions. Probes
 * around imports and garbage collections time these. Each counted call costs the program 0.5 to 1
 * us, or 10 to 25 us where the kernel cannot emulate the instruction under the probe.
 *
 * It needs what the eBPF source needs, and CAP_SYS_ADMIN.
 */
#ifndef SPROF_CALL_COUNTS_H
#define SPROF_CALL_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct call_counts;

/* The user of files that the caller named: they have all the room there is. */
#define CALL_COUNTS_CALLER UINT32_MAX

/*
 * Loads the BPF program; calls of added processes count, or of all, and without no_children of what
 * they fork. 0 or -errno, reported.
 */
int call_counts_new(bool system_wide, bool no_children, struct call_counts **ret_counts);
void call_counts_free(struct call_counts *counts); /* NULL is fine; removes all probes */

/*
 * Counts this process, or with from_exec the next program that it executes, and those that it forks
 * from then on if they count. 0 or -errno.
 */
int call_counts_add_process(struct call_counts *counts, pid_t pid, bool from_exec);
/* The counted process after `pid`, or the first one (pid 0); 0 after the last. */
pid_t call_counts_next_process(const struct call_counts *counts, pid_t pid);

/*
 * How many programs the counted processes have started so far. If it changes, there may be new
 * files.
 */
uint64_t call_counts_nr_execs(const struct call_counts *counts);

/*
 * Puts probes at offsets of the file at fd, in every process that maps it now or later. `user` is
 * the one whose process maps it, or CALL_COUNTS_CALLER. ret_probes[i] is the number of probe i, or
 * -errno: -ENOSPC where there are too many, -EDQUOT where the user has as many as one may have
 * (core/untrusted/user_shares.h), -EOPNOTSUPP where a probe would change what the program does.
 * Numbers count from 0 over all calls of this function; a probe that the kernel refuses uses one
 * up. Before Linux 6.6, which has links of many probes, removing a probe takes 0.1 s.
 */
void call_counts_attach(struct call_counts *counts, int fd, uint32_t user, const uint64_t *offsets,
			size_t nr, int *ret_probes);

/*
 * Has the calls of a function timed, from the entry to the return, which are collective operations
 * of gloo. It needs a probe at each return: one that replaced the return address (uretprobe) would
 * have C++ exceptions, which gloo throws when a peer is lost, end the program. `size` is what the
 * function's symbol says, 0 unknown. Returns the number of the probe, or -errno as above; -ENODATA:
 * no return was found.
 */
int call_counts_attach_collective(struct call_counts *counts, int fd, uint32_t user,
				  uint64_t offset, uint64_t size);

/* What CPython's own probes report. */
enum call_counts_event {
	CALL_PROBES_FUNCTIONS, /* each call of a Python function: function__entry */
	CALL_PROBES_GC,	       /* garbage collections: gc__start, gc__done */
	CALL_PROBES_IMPORTS,   /* import__find__load__start, import__find__load__done */
	NR_CALL_PROBES_EVENTS
};

enum call_counts_python {
	CALL_PROBES_NO_PYTHON,	  /* not an interpreter */
	CALL_PROBES_PYTHON,	  /* attached */
	CALL_PROBES_NOT_BUILT_IN, /* no --with-dtrace, or its version has no such probe */
	CALL_PROBES_NOT_EACH,	  /* 3.11, which does not pass function__entry at each call */
	CALL_PROBES_FAILED,	  /* reported with -v */
};

enum call_counts_python call_counts_attach_python(struct call_counts *counts, int fd,
						  enum call_counts_event event);

/*
 * Counts calls from begin_ns up to end_ns (CLOCK_MONOTONIC). Before this function nothing counts.
 */
void call_counts_start(struct call_counts *counts, uint64_t begin_ns, uint64_t end_ns);

/* How often the function at that probe was called. */
uint64_t call_counts_count(const struct call_counts *counts, uint32_t probe);

/* A Python function of one process and its calls; the strings are valid during the callback. */
typedef void call_counts_fn(void *context, const char *file, const char *name, uint32_t line,
			    uint64_t calls);
void call_counts_each_python(const struct call_counts *counts, call_counts_fn *fn, void *context);

/*
 * The garbage collections of a process and a generation (0, 1, 2; 3 is for any of later versions).
 */
struct gc_key;
struct gc_sum;
typedef void call_counts_gc_fn(void *context, const struct gc_key *key, const struct gc_sum *sum);
void call_counts_each_gc(const struct call_counts *counts, call_counts_gc_fn *fn, void *context);

/*
 * Hands over imports that began or ended since the last call; those of a thread come in order of
 * time.
 */
struct import_event;
typedef void call_counts_import_fn(void *context, const struct import_event *event);
void call_counts_read_imports(struct call_counts *counts, call_counts_import_fn *fn, void *context);

/* Hands over collective operations that have returned since the last call. */
struct collective_event;
typedef void call_counts_collective_fn(void *context, const struct collective_event *event);
void call_counts_read_collectives(struct call_counts *counts, call_counts_collective_fn *fn,
				  void *context);
/* How many of these were lost for lack of room. */
uint64_t call_counts_nr_collectives_left_out(const struct call_counts *counts);

/* How many processes were forked beyond MAX_CALL_PROCESSES. */
uint64_t call_counts_nr_children_left_out(const struct call_counts *counts);

/* How many calls, garbage collections and imports of Python were not counted, for lack of room. */
uint64_t call_counts_nr_left_out(const struct call_counts *counts);

#endif
