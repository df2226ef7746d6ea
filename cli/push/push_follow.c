/*
 * In each interval, frames that are new are named by the paths of their files, as in an unfinished
 * recording. At the end, the names that the recorder has looked up, with the files that it kept
 * open, replace those. Segments of a flight recorder are pushed once they are finished.
 */
#include "cli/push/push_follow.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/input/load.h"
#include "cli/push/push_record_opts.h"
#include "cli/push/request_pipe.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/path.h"
#include "core/profile/profile.h"
#include "core/recording/recfile.h"
#include "core/rights/privileges.h"
#include "core/rights/safe_open.h"
#include "core/segments/folder.h"
#include "output/push/series.h"
#include "symbolizer/symbolizer.h"

#define EVERY_NS 15000000000u	   /* if --push-every is not given */
#define RECORDING_MAX (1ull << 50) /* bytes */

struct follower {
	const struct push_record_opts *opts;
	int control, requests;
	struct recfile_follow *file;
	uint64_t begin_ns; /* when the interval began, CLOCK_MONOTONIC */
};

/* Reads the path of the next recording. Returns false at the end. */
static bool read_path(int fd, char *path, size_t size)
{
	for (size_t at = 0; at < size; at++) {
		ssize_t n;

		do
			n = read(fd, path + at, 1);
		while (n < 0 && errno == EINTR);
		if (n <= 0)
			return false;
		if (!path[at])
			return true;
	}
	return false;
}

static int open_recording(struct follower *f, const char *path)
{
	int fd = safe_open_no_link(path, RECORDING_MAX);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "rb");

	if (!file) {
		log_error(fd < 0 ? -fd : errno, "push '%s'", path);
		return -EIO;
	}
	f->file = recfile_follow_new(file);
	return 0;
}

/* Waits until until_ns. Returns true, earlier, if the recording is finished. */
static bool wait_until(const struct follower *f, uint64_t until_ns)
{
	struct pollfd fd = { .fd = f->control, .events = POLLIN };
	uint64_t now;

	while ((now = monotonic_ns()) < until_ns)
		if (poll(&fd, 1, (int)((until_ns - now) / 1000000) + 1) > 0)
			return true;
	return false;
}

static void name_frames(struct profile *p)
{
	const struct symbolizer_opts opts = { 0 };
	struct symbolizer_stats stats;

	symbolizer_run(p, &opts, &stats);
	push_name_unnamed(p); /* so that the next interval does not look them up again */
}

/* Sends the samples that came since the last call. */
static int push_interval(struct follower *f, bool *ret_more)
{
	uint64_t end_ns = monotonic_ns(), end_realtime_ns = realtime_ns();
	struct profile *p;
	struct profile part;
	int err, more = recfile_follow_next(f->file, &p);

	*ret_more = more > 0;
	if (more < 0)
		return more;
	if (!p->nr_samples)
		return 0;
	name_frames(p);
	part = *p;
	if (f->begin_ns < p->meta.start_ns)
		f->begin_ns = p->meta.start_ns;
	part.meta.start_ns = f->begin_ns;
	part.meta.end_ns = end_ns;
	/*
	 * By the present clocks: since the recording began, the machine may have slept, or the time
	 * of day may have been set.
	 */
	part.meta.start_realtime_ns = end_realtime_ns - (end_ns - f->begin_ns);
	err = request_pipe_write(f->requests, &part, f->opts->opts.url.receiver,
				 &f->opts->opts.labels);
	p->nr_samples = 0;
	f->begin_ns = end_ns;
	return err;
}

static int follow(struct follower *f)
{
	uint64_t every = f->opts->every_ns ? f->opts->every_ns : EVERY_NS, next = monotonic_ns();
	bool finished = false, more = true;
	int err = 0;

	while (!finished && more && !err) {
		next += every;
		if (next < monotonic_ns()) /* the receiver was slow, or this process had no CPU */
			next = monotonic_ns() + every;
		finished = wait_until(f, next);
		err = push_interval(f, &more);
	}
	return err;
}

static int follow_recording(struct follower *f, const char *path)
{
	int err = open_recording(f, path);

	if (err)
		return err;
	err = follow(f);
	if (err && err != -EPIPE)
		log_error(-err, "push '%s'", path);
	recfile_follow_free(f->file);
	return err;
}

/*
 * The path where a segment is now; the caller frees it. A segment that a signal or a trigger keeps
 * has a second name, and may have lost the first one by now.
 */
static char *path_of_segment(const char *path)
{
	const char *name = path_base_name(path);
	char *kept = xasprintf("%.*s" KEPT_FOLDER "/%s", (int)(name - path), path, name);

	if (!access(path, F_OK) || access(kept, F_OK)) {
		free(kept);
		return xstrdup(path);
	}
	return kept;
}

static int load_segment(const char *path, struct profile **ret)
{
	const struct load_opts load = { .no_warnings = true }; /* the recorder has warned already */
	char *first = path_of_segment(path), *again;
	int err = profile_load(first, &load, ret);

	again = err ? path_of_segment(path) : NULL;
	if (again && strcmp(first, again)) /* it lost its first name while it was opened */
		err = profile_load(again, &load, ret);
	free(first);
	free(again);
	return err;
}

static int push_finished(const struct follower *f, const char *path)
{
	struct profile *p;
	int err = load_segment(path, &p);

	if (err)
		return err;
	err = p->nr_samples ? request_pipe_write(f->requests, p, f->opts->opts.url.receiver,
						 &f->opts->opts.labels)
			    : 0;
	if (err && err != -EPIPE)
		log_error(-err, "push '%s'", path);
	profile_free(p);
	return err;
}

int push_follow(const struct push_record_opts *opts, int control, int requests)
{
	struct follower f = { .opts = opts, .control = control, .requests = requests };
	char path[PATH_MAX];
	int err = 0, status = 0;

	privileges_only_read();
	while (err != -EPIPE && read_path(control, path, sizeof(path))) {
		err = opts->finished ? push_finished(&f, path) : follow_recording(&f, path);
		status |= err ? 1 : 0;
	}
	return status;
}
