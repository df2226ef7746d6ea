/*
 * A source takes samples and gives them, resolved to modules and addresses, to a sink. The command
 * drives it: probe, open, start, drain until the end, stop, close.
 */
#ifndef SPROF_SOURCE_H
#define SPROF_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include "core/profile/event_name.h"
#include "core/profile/facts.h"
#include "core/profile/profile.h"

/*
 * Where samples go: a recording, or a profile in memory. Ids are the sink's own and dense; equal
 * content gives an equal id, as in profile.h. Hooks never fail: a sink that cannot write remembers
 * the error and reports it when it is finished.
 */
struct sink {
	uint32_t (*string)(struct sink *sink, const char *s, size_t length);
	uint32_t (*module)(struct sink *sink, const struct profile_module *module);
	uint32_t (*thread)(struct sink *sink, uint32_t pid, uint32_t tid, uint32_t comm);
	uint32_t (*frame)(struct sink *sink, uint32_t module, uint64_t address);
	/* `frames` root first. */
	uint32_t (*stack)(struct sink *sink, const uint32_t *frames, size_t nr);
	/* Times are nearly ascending; equal times are allowed. */
	void (*sample)(struct sink *sink, const struct profile_sample *sample);
	/* `row` is a struct fact_... of that kind, with the sink's ids. */
	void (*fact)(struct sink *sink, enum fact_kind kind, const void *row);
	/*
	 * Asked before sample(): whether the sink wants it. An unwanted sample is dropped and not
	 * counted. NULL: all are wanted.
	 */
	bool (*wants)(struct sink *sink, const struct profile_sample *sample);
};

static inline uint32_t sink_cstring(struct sink *sink, const char *s)
{
	return sink->string(sink, s, strlen(s));
}

struct memory_shares;
struct source_ops;
struct sandbox;
struct table_cache;

/* What is known of the language runtimes of targets before they are sampled. */
enum source_runtime {
	RUNTIME_NONE_SEEN,
	RUNTIME_MAY_COME, /* a program that starts others, such as a shell */
	RUNTIME_PYTHON,
};

/* How much a source sees of what a config names. */
enum source_fit {
	SOURCE_CANNOT,	 /* it would refuse a target */
	SOURCE_MISSES,	 /* it would leave out what another source sees */
	SOURCE_MAY_MISS, /* it may leave out some of that */
	SOURCE_FITS,
};

/* The time that is sampled. */
enum source_clock {
	CLOCK_CPU,  /* of threads that run */
	CLOCK_WALL, /* of threads that run, and of those that wait */
	CLOCK_OFF,  /* of threads that wait */
};

#define SOURCE_MAX_CGROUPS 8
#define SOURCE_MIN_WAIT_PERIOD_NS 100000u
#define SOURCE_MAX_WAIT_PERIOD_NS 1000000000u

/* Events that are sampled beside the clock; number i has COLUMN_EVENT_1 + i. */
struct source_events {
	struct source_event {
		char name[EVENT_NAME_MAX + 1]; /* as the user spelled it, with modifiers */
		uint64_t period;	       /* events between two samples; 0: see freq_hz */
	} list[NR_EVENT_COLUMNS];
	size_t nr;
	bool alone;  /* the clock does not run */
	bool growth; /* also sample growth of resident memory: COLUMN_GROWTH */
};

struct source_config {
	const pid_t *pids; /* targets that are running already */
	size_t nr_pids;
	bool some_may_fail; /* they were found by name: those that cannot be sampled are reported */
	bool system_wide;
	/*
	 * Leave out what the caller could not read itself: a target that becomes a setuid program.
	 */
	bool callers_only;
	/* Folders of cgroups: the processes in them and below are sampled, while they are there. */
	const char *const *cgroups;
	size_t nr_cgroups; /* at most SOURCE_MAX_CGROUPS, none below another */
	bool by_user;	   /* sample the processes of this real user, and what they start */
	uid_t user;
	bool no_children; /* sample the processes alone, not what they have started or will start */
	pid_t launched;	  /* our child process, stopped before its exec; or 0 */
	/* the program it will exec, as the user gave it; NULL where nothing is launched */
	const char *program;
	uint32_t freq_hz, max_freq_hz;	    /* at first, and what may be set later; 0: the same */
	const char *event;		    /* of the clock: "auto", "cpu-clock" or "cycles" */
	const struct source_events *events; /* NULL: none; it outlives the source */
	bool no_python;			    /* record native frames only, even in interpreters */
	enum source_clock clock;
	bool latency; /* with each sample, count the threads of targets that run then */
	bool wakers;  /* with waits: also who ended them */
	/* with waits: longer ones are all sampled, if they are few; 0: 1 ms */
	uint64_t wait_period_ns;
	bool syscalls;	      /* count and time system calls */
	uint64_t syscalls_ns; /* longer ones become samples; 0: none */
	bool counts_cost;     /* have the kernel count its own cost: kernel_cost() */
	const struct memory_shares
		*memory; /* that it may take; for the time of open(); NULL: any */
	enum source_runtime
		runtime; /* of all targets together: the greatest; for fit() and open() */
	/* where files of targets are parsed; outlives the source; NULL: in this process */
	const struct sandbox *sandbox;
	struct table_cache *cache; /* of unwind tables; outlives the source; NULL: none */
	/* source_table, for hints that name other sources; NULL: none are named */
	const struct source_ops *const *sources;
};

struct source; /* each source defines its own */

struct source_ops {
	const char *name; /* for --source */
	const char *help; /* one line */
	/*
	 * The capabilities (core/rights/privileges.h) that it uses after start(). The command gives
	 * up all others.
	 */
	uint64_t privileges;
	/*
	 * Returns whether the source works here; else why[] has the reason and hint[] the command
	 * that fixes it, "" where there is none. Cheap; leaves nothing behind.
	 */
	bool (*probe)(char *why, size_t why_size, char *hint, size_t hint_size);
	/*
	 * Asked of a source that works here, before anything is launched or opened: does it suit
	 * these targets? If not, why[] has the reason, as a clause that names the source. Nothing
	 * is left behind in a target. NULL: it suits all.
	 */
	enum source_fit (*fit)(const struct source_config *config, char *why, size_t why_size);
	/*
	 * Allocates everything and attaches to the targets, but takes no sample yet. 0 or -errno,
	 * reported.
	 */
	int (*open)(const struct source_config *config, struct source **ret_source);
	/*
	 * Called between open() and start(): waits at most timeout_ms for the unwind tables of what
	 * the targets map, less if a signal comes. Returns how many files still have none.
	 */
	size_t (*await_tables)(struct source *source, int timeout_ms);
	/* Starts sampling. 0 or -errno, reported. */
	int (*start)(struct source *source);
	/*
	 * Waits at most timeout_ms for data and moves it into the sink. Returns 1 while targets are
	 * alive, 0 when all have ended, or -errno.
	 */
	int (*drain)(struct source *source, struct sink *sink, int timeout_ms);
	bool waits_long; /* drain() keeps up with the targets however long its timeout is */
	/* Stops sampling; samples that are under way still go to the sink. */
	void (*stop)(struct source *source, struct sink *sink);
	/*
	 * Called when a segment of a recording is about to end: what happened before goes into the
	 * sink, and so do the sums over the segment's time. NULL: there are no such sums.
	 */
	void (*tell_sums)(struct source *source, struct sink *sink);
	/*
	 * Called when the next segment of a recording begins, with the same sink. Frees what was
	 * kept for the last segment: files that are open for their names alone, sums over its time.
	 * With `forget`, all ids of the sink become invalid, and samples under way may be lost.
	 * NULL: the source cannot be recorded in segments.
	 */
	void (*turn)(struct source *source, bool forget);
	/*
	 * Changes the rate after start(), to at most config.max_freq_hz. Each sample is weighted by
	 * its own rate. 0 or -errno. NULL: the source cannot change it.
	 */
	int (*set_rate)(struct source *source, uint32_t freq_hz);
	/*
	 * CPU time of the source's BPF programs, as the kernel counts it, without the interrupts
	 * around them. 0, or -ENODATA if it is not counted. NULL: it cannot be.
	 */
	int (*kernel_cost)(const struct source *source, uint64_t *ret_ns);
	/*
	 * Bytes that the kernel holds for the source: maps of BPF programs, rings. A source with
	 * this hook keeps config.memory; NULL: it does not.
	 */
	uint64_t (*kernel_memory)(const struct source *source);
	/* Sets the counters to their values so far. */
	void (*stats)(const struct source *source, struct profile_stats *ret_stats);
	/* Returns the event that is really used ("cpu-clock" ...), for the recording. */
	const char *(*event)(const struct source *source);
	/*
	 * Returns a descriptor of the file behind a module id of the sink, opened when its mapping
	 * was seen; the caller closes it. -errno where there is none. Has the signature of
	 * symbolizer_opts.open_module.
	 */
	int (*open_module)(void *source, uint32_t module);
	/*
	 * Opens the root directory in which the paths of a module have a meaning, for its debug
	 * files; the caller closes it. The first *ret_prefix bytes of the module's path lead to it.
	 * -errno where it is gone with its process. Has the signature of symbolizer_opts.open_root.
	 */
	int (*open_root)(void *source, uint32_t module, size_t *ret_prefix);
	void (*close)(struct source *source); /* NULL is fine */
};

/* The table of sources, best first; ends with NULL. It lies in sampler/sources.c. */
extern const struct source_ops *const source_table[];

/*
 * A sink that puts samples into a profile in memory: for live views and tests. The caller keeps
 * owning the profile, which must outlive the sink.
 */
struct sink *profile_sink_new(struct profile *p);
void profile_sink_free(struct sink *sink);

#endif
