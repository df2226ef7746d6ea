/*
 * A source takes samples and hands them, resolved to modules and addresses, to a sink. The command
 * drives it: probe, open, start, drain until the end, stop, close.
 */
#ifndef SPROF_SOURCE_H
#define SPROF_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/profile/facts.h"
#include "core/profile/profile.h"

/*
 * Where samples go: the recording, or a profile in memory. Ids are the sink's own, dense; equal
 * content gives an equal id, as in profile.h. Hooks never fail: a sink that cannot write remembers
 * the error and says so when it is finished.
 */
struct sink {
	uint32_t (*string)(struct sink *sink, const char *s, size_t length);
	uint32_t (*module)(struct sink *sink, const struct profile_module *module);
	uint32_t (*thread)(struct sink *sink, uint32_t pid, uint32_t tid, uint32_t comm);
	uint32_t (*frame)(struct sink *sink, uint32_t module, uint64_t address);
	/* `frames` root first. */
	uint32_t (*stack)(struct sink *sink, const uint32_t *frames, size_t nr);
	/* Samples come in nearly ascending time; equal times are legal. */
	void (*sample)(struct sink *sink, const struct profile_sample *sample);
	/* `row` is a struct fact_... of that kind, with the sink's ids. */
	void (*fact)(struct sink *sink, enum fact_kind kind, const void *row);
	/* Asked before sample(): is it wanted? One that is not is left out, uncounted. NULL: all are. */
	bool (*wants)(struct sink *sink, const struct profile_sample *sample);
};

struct source_config {
	const pid_t *pids; /* targets that run already */
	size_t nr_pids;
	bool system_wide;
	pid_t launched;	     /* our own child, stopped before its exec, or 0 */
	const char *program; /* what it will exec, as given; NULL where nothing is launched */
	uint32_t freq_hz;
	const char *event; /* "auto", "cpu-clock" or "cycles" */
	bool no_python;	   /* native frames only, of interpreters too */
	bool adds_probes;  /* while it runs, others put probes into files: that right is kept */
	bool wall_clock;   /* sample threads that wait, too; asked of the timer source only */
};

struct source; /* each backend's own */

struct source_ops {
	const char *name; /* for --source */
	const char *help; /* one line */
	/*
	 * Can this backend work here? true, or false with a reason in why[] and in hint[] the
	 * command that fixes it ("" where none does). Cheap; leaves nothing behind.
	 */
	bool (*probe)(char *why, size_t why_size, char *hint, size_t hint_size);
	/* Allocates everything and attaches to the targets; no sample is taken yet. 0 or -errno,
	 * reported. */
	int (*open)(const struct source_config *config, struct source **ret_source);
	/*
	 * What the launched program needs in its environment: NAME=VALUE..., NULL, the source's.
	 * NULL hook: nothing. Asked before start().
	 */
	const char *const *(*environment)(const struct source *source);
	/* Samples from now on. 0 or -errno, reported. */
	int (*start)(struct source *source);
	/*
	 * Waits at most timeout_ms for data and moves it into the sink. 1 = targets are still
	 * there, 0 = every target has ended, -errno on failure.
	 */
	int (*drain)(struct source *source, struct sink *sink, int timeout_ms);
	/* No sample is taken after this; what is in flight goes to the sink. */
	void (*stop)(struct source *source, struct sink *sink);
	/* Fills the counters so far. */
	void (*stats)(const struct source *source, struct profile_stats *ret_stats);
	/* The event really used ("cpu-clock" ...), for the recording's metadata. */
	const char *(*event)(const struct source *source);
	/*
	 * A descriptor of the file behind the sink's module id, pinned when its mapping was seen;
	 * the caller closes it. -errno where there is none. Shape of symbolizer_opts.open_module.
	 */
	int (*open_module)(void *source, uint32_t module);
	/* Names a kernel address; NULL where the source cannot. Shape of
	 * symbolizer_opts.kernel_symbol. */
	int (*kernel_symbol)(void *source, uint64_t address, char *name, size_t size);
	void (*close)(struct source *source); /* NULL is fine */
};

/* The table of sources, best first; ends with NULL. sampler/sources.c owns it. */
extern const struct source_ops *const source_table[];

#endif
