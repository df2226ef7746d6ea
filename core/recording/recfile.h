/*
 * Recordings on disk: written while sampling, read later. record.h specifies the format.
 *
 *	recfile_create(path, &meta, &w)
 *	drain into recfile_sink(w); each second recfile_set_stats(w, ...) and recfile_flush(w)
 *	symbolizer_run(recfile_vocabulary(w), ...); recfile_write_symbols(w)
 *	recfile_finish(w, &stats, end_ns); recfile_free(w)
 *
 * A recording has its final name from the beginning, not a temporary one, so that what kill -9
 * leaves is where the user looks for it.
 */
#ifndef SPROF_RECFILE_H
#define SPROF_RECFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/profile/profile.h"
#include "core/profile/source.h"

struct recfile; /* a recording being written */

/* What is known when sampling starts. NULL strings are left out. */
struct recfile_meta {
	const char *hostname, *kernel, *command, *source, *event, *version;
	const char *boot; /* the kernel's id of the boot; only in segments of a folder */
	/* Frames of files with a build-id have their names in a folder beside the recording. */
	bool names_beside;
	uint32_t freq_hz, nr_cpus;
	uint64_t start_realtime_ns; /* Unix time */
	uint64_t start_ns;	    /* CLOCK_MONOTONIC at the same moment */
};

/*
 * Creates the file with mode 0600; a regular file of that name is renamed to PATH.old first. 0 or
 * -errno, not reported: -ELOOP where `path` is a symbolic link, -EISDIR where it is a directory,
 * -EOPNOTSUPP where it is anything else but a regular file, or the kernel's error.
 */
int recfile_create(const char *path, const struct recfile_meta *meta, struct recfile **ret_file);
/*
 * The same in an empty file that the caller has opened for writing. The recording owns the
 * descriptor from now on; if this fails, it is closed.
 */
int recfile_create_in(int fd, const struct recfile_meta *meta, struct recfile **ret_file);
/* Says why recfile_create() failed. */
const char *recfile_create_reason(int err);

/* The sink that takes the samples. Belongs to the recording. */
struct sink *recfile_sink(struct recfile *w);

/*
 * Sets the counters so far. Every chunk carries them, so that an unfinished recording knows its
 * losses.
 */
void recfile_set_stats(struct recfile *w, const struct profile_stats *stats);

/*
 * Writes pending data, if any; it survives the death of the recorder then. The recording also
 * flushes itself at 1 MiB. 0, or the -errno of the first write that failed: after it nothing more
 * is written, the file ends with its last whole chunk, and samples count as lost.
 */
int recfile_flush(struct recfile *w);

uint64_t recfile_size_bytes(const struct recfile *w); /* in the file */
uint64_t recfile_nr_lost(const struct recfile *w);    /* samples that could not be written */

/*
 * The recorded strings, modules, threads and frames, by the sink's ids, without stacks and samples:
 * for the symbolizer.
 */
struct profile *recfile_vocabulary(struct recfile *w);

/* Writes the functions and locations of the vocabulary. 0 or -errno, as recfile_flush(). */
int recfile_write_symbols(struct recfile *w);

/*
 * Writes the rest and marks the recording as complete. `stats` NULL: those set last. 0 or -errno,
 * as recfile_flush(); on failure the recording stays unfinished. Nothing may be recorded
 * afterwards.
 */
int recfile_finish(struct recfile *w, const struct profile_stats *stats, uint64_t end_ns);

/* Closes the file. Without recfile_finish() the recording stays unfinished. NULL is fine. */
void recfile_free(struct recfile *w);

/*
 * Copies a finished, undamaged recording into an empty file with its chunks joined: those that are
 * written each second are small and compress badly. 0; -EBADMSG where it is not such a recording;
 * or -errno. On failure the new file is of no use.
 */
int recfile_pack(int from_fd, int to_fd);

/* Is a file that starts with these bytes a recording? Needs one byte; eight are certain. */
bool recfile_is_recording(const void *data, size_t size);

/*
 * Reads a recording, from a file or a pipe, into a new profile that the caller frees. What is
 * damaged or missing is left out, and counted in stats.nr_lost as far as it is known. In that case,
 * and for recordings that were not finished, meta.unfinished is set and *ret_note says what
 * happened ("the recorder was killed", "damaged after chunk 12"); otherwise *ret_note is "". The
 * caller frees it.
 *
 * Returns 0, -EINVAL where this is not a recording, -EPROTONOSUPPORT where its version is unknown,
 * or the -errno of a failed read.
 */
int recfile_read(FILE *f, struct profile **ret_profile, char **ret_note);

/* Reads a recording while it is written. If the writer is killed, what it had flushed is read. */
struct recfile_follow;

/* Takes over the file and reads it from its beginning. */
struct recfile_follow *recfile_follow_new(FILE *f);
void recfile_follow_free(struct recfile_follow *follow); /* NULL is fine */

/*
 * Adds what was written since the last call to the profile, which `follow` owns; the caller may
 * remove samples from it and name frames. Returns 1, or 0 once all of a finished recording is
 * there, or -errno as recfile_read().
 */
int recfile_follow_next(struct recfile_follow *follow, struct profile **ret_profile);

/* How a recording is added to a profile that holds others already. */
struct recfile_part {
	/* Keep samples whose time of day, Unix time in ns, is in [from, to). */
	uint64_t from_realtime_ns, to_realtime_ns;
	const char *host; /* a recording of another host is not added; NULL: any */
	/*
	 * Returns a number, below 2^23, for the boot of a host: within one, kernel addresses mean
	 * the same.
	 */
	uint32_t (*number_of_boot)(void *context, const char *host, const char *boot);
	void *context;
	/* A number that no other recording has: runtime code differs between recordings. */
	uint32_t number;
	/*
	 * The time of day when CLOCK_MONOTONIC of the first recording was 0: all times are
	 * translated to that clock. 0: this is the first recording, and sets it.
	 */
	uint64_t zero_realtime_ns;
};

/*
 * Adds the recording to `p`: its samples, what they refer to, its counters, and facts of processes,
 * events, limits, rates and costs. Sums over the time of a recording: those of locks, threads and
 * system calls are added up if any of that time is wanted (p->sums), all others are left out. Fills
 * what p->meta does not have; sets unfinished if this recording is. *ret_note as in recfile_read().
 * -ENOENT: it is of another host; `p` has only got strings.
 */
int recfile_add(FILE *f, struct profile *p, struct recfile_part *part, char **ret_note);

#endif
