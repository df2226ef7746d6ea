/*
 * Formats are told apart by how a file begins, never by its name. The format's reader reads these
 * first bytes again (lookahead.h), so standard input works without a copy.
 */
#include "cli/input/load.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/input/load_folder.h"
#include "cli/input/load_perf_data.h"
#include "cli/input/lookahead.h"
#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/base/log.h"
#include "core/base/memory_limit.h"
#include "core/profile/column.h"
#include "core/profile/event_name.h"
#include "core/profile/profile.h"
#include "core/recording/recfile.h"
#include "core/segments/folder.h"
#include "core/segments/names_folder.h"
#include "core/segments/segments_read.h"
#include "output/select/filter.h"
#include "output/select/live_choice.h"
#include "output/codec/gzip.h"
#include "output/import/importer.h"
#include "sampler/perf_data/perf_data.h"
#include "symbolizer/symbolizer.h"

#define MAX_EXPANDED ((size_t)2 << 30) /* bytes that a gzip file may expand to */

static int open_input(const char *path, FILE **ret_file)
{
	FILE *f;

	if (path && strcmp(path, "-") == 0) {
		*ret_file = stdin;
		return 0;
	}
	f = fopen(path ? path : LOAD_DEFAULT_PATH, "rbe");
	if (!f) {
		int err = errno;

		log_error(err, "open '%s'", path ? path : LOAD_DEFAULT_PATH);
		if (err == ENOENT && !path)
			log_hint("sprof record -- PROGRAM makes a recording of that name");
		if (err == EACCES)
			log_hint("recordings are private to the user who made them: sudo");
		return -err;
	}
	*ret_file = f;
	return 0;
}

static const char *event_wanted(const struct load_opts *opts)
{
	return opts->filter ? filter_event(opts->filter) : NULL;
}

/* Keeps only the samples of one event, in a recording that counts several. */
static void keep_event(struct profile *p, unsigned int column)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->nr_samples; i++)
		if (p->samples[i].column == column)
			p->samples[kept++] = p->samples[i];
	p->nr_samples = kept;
	p->meta.event = profile_cstring(p, column_info_of(p, column)->name);
}

/*
 * Checks that the profile has the wanted event. Readers of files with several events have chosen it
 * already; a recording has a column for each event of -e.
 */
static int check_event(struct profile *p, const char *name, const struct load_opts *opts)
{
	const char *want = event_wanted(opts), *event = profile_str(p, p->meta.event);
	unsigned int column = want ? column_find_event(p, want) : NR_COLUMNS;

	if (column != NR_COLUMNS) {
		keep_event(p, column);
		return 0;
	}
	if (!want || event_name_is(event, want))
		return 0;
	log_error(0, "show event %s of '%s': it holds only %s", want, name,
		  *event ? event : "samples of an unknown event");
	return -ENODATA;
}

/* Warns of what is missing from a recording. */
static void warn(const struct profile *p, const char *name, const char *note)
{
	uint64_t lost = p->stats.nr_lost, taken = lost + p->stats.nr_samples;

	if (p->meta.unfinished)
		log_warning("'%s' is UNFINISHED: %s", name, note);
	if (lost)
		log_warning("%" PRIu64 " of %" PRIu64 " samples were lost", lost, taken);
	if (p->nr_facts_left_out)
		log_warning(
			"%" PRIu64
			" rows of tables of GPU work and ranges are more than there is room for",
			p->nr_facts_left_out);
}

/* Names frames with the files of this machine: a recorder that was killed has not named any. */
static void symbolize(struct profile *p, const struct load_opts *opts)
{
	const struct symbolizer_opts symbolizer = { .no_inlines = opts->no_inlines };
	struct symbolizer_stats stats;

	symbolizer_run(p, &symbolizer, &stats);
	log_debug("%" PRIu64 " of %" PRIu64 " frames had to be named here, %" PRIu64 " could not",
		  stats.nr_frames, (uint64_t)p->nr_frames, stats.nr_unnamed);
}

/*
 * Names the frames of a single segment: from the folder of names beside it, and the rest from the
 * files of this machine, as the segment may have been copied without that folder.
 */
static void name_segment(struct profile *p, const char *name, const struct load_opts *opts)
{
	char *folder = xstrdup(name), *slash = strrchr(folder, '/'), *path;
	int fd, names;

	if (slash)
		slash[slash == folder] = '\0';
	path = xasprintf("%s/names", slash ? folder : ".");
	fd = open(slash ? folder : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	free(folder);
	names = fd < 0 ? -errno : folder_open_names(fd);
	if (fd >= 0)
		close(fd);
	if (names >= 0) {
		memory_guard_begin(path, 0);
		names_folder_read(names, p, NULL);
		memory_guard_end();
		close(names);
	}
	free(path);
	symbolize(p, opts);
}

static int load_recording(FILE *f, const char *name, const struct load_opts *opts,
			  struct profile **ret_profile)
{
	char *note;
	int err = recfile_read(f, ret_profile, &note);

	memory_guard_end(); /* files that names come from have limits of their own */
	if (err) {
		if (err == -EPROTONOSUPPORT)
			log_error(0,
				  "read '%s': a later version of sprof wrote it, in a newer format",
				  name);
		else if (err == -EINVAL)
			log_error(0, "read '%s': its beginning is damaged", name);
		else
			log_error(-err, "read '%s'", name);
		return err;
	}
	if (!opts->no_warnings)
		warn(*ret_profile, name, note);
	if (opts->ret_note)
		*opts->ret_note = note;
	else
		free(note);
	/* A finished recording needs no look-up: its recorder had the files of the targets. */
	if ((*ret_profile)->meta.names_beside && !opts->no_symbols)
		name_segment(*ret_profile, name, opts);
	else if ((*ret_profile)->meta.unfinished && !opts->no_symbols)
		symbolize(*ret_profile, opts);
	return 0;
}

static int load(FILE *f, const char *name, const struct load_opts *opts, bool expanded,
		struct profile **ret_profile);

/* Files of perf record hold no names, so frames are named by the mapped files, if they are here. */
static int load_perf(FILE *f, const char *name, const struct load_opts *opts,
		     struct profile **ret_profile)
{
	struct symbolizer_opts symbolizer = { .no_inlines = opts->no_inlines };
	struct symbolizer_stats stats;
	const struct perf_data_load_opts load_opts = { .warn = !opts->no_warnings,
						       .event = event_wanted(opts) };
	int err = perf_data_load(f, name, &load_opts, &symbolizer.elsewhere, ret_profile);

	memory_guard_end();
	if (!err && !opts->no_symbols)
		symbolizer_run(*ret_profile, &symbolizer, &stats);
	return err;
}

/* Reads another program's file. Its kernel addresses may be of another kernel. */
static int load_imported(struct lookahead *ahead, const char *name, const struct load_opts *opts,
			 struct profile **ret_profile)
{
	const struct symbolizer_opts symbolizer = { .no_inlines = opts->no_inlines,
						    .elsewhere = true };
	const struct importer *importer = importer_detect(ahead->head, ahead->size, name);
	const struct import_opts import = { .event = event_wanted(opts) };
	struct symbolizer_stats stats;
	int err = importer ? importer->read(ahead->file, name, &import, ret_profile) : -EINVAL;

	memory_guard_end();
	if (!err && importer->unnamed && !opts->no_symbols)
		symbolizer_run(*ret_profile, &symbolizer, &stats);
	return err;
}

/* A compressed file is expanded in memory and then read like any other. */
static int load_gzip(FILE *f, const char *name, const struct load_opts *opts,
		     struct profile **ret_profile)
{
	struct buffer packed = { 0 }, data = { 0 };
	int err = buffer_add_file(&packed, f, MAX_EXPANDED);
	uint64_t limit = memory_limit_file(packed.size);
	FILE *expanded = NULL;

	if (limit > MAX_EXPANDED)
		limit = MAX_EXPANDED;
	if (!err)
		err = gzip_expand(&data, packed.data, packed.size, limit);
	if (err == -EFBIG)
		memory_limit_report(name, packed.size, limit);
	buffer_fini(&packed);
	if (!err && data.size)
		expanded = fmemopen(data.data, data.size, "rb");
	if (expanded)
		err = load(expanded, name, opts, true, ret_profile);
	else if (err == -EINVAL)
		log_error(0, "read '%s': its gzip data is damaged or cut off", name);
	else if (err != -EFBIG)
		log_error(err ? -err : 0, "read '%s'%s", name, err ? "" : ": it is empty");
	if (expanded)
		fclose(expanded);
	buffer_fini(&data);
	return expanded ? err : err ? err : -ENODATA;
}

static int load(FILE *f, const char *name, const struct load_opts *opts, bool expanded,
		struct profile **ret_profile)
{
	struct lookahead ahead;
	int err = lookahead_init(&ahead, f, IMPORT_HEAD_SIZE);

	if (err || !ahead.size) {
		log_error(-err, "read '%s'%s", name, err ? "" : ": it is empty");
		if (!err)
			lookahead_fini(&ahead);
		return err ? err : -ENODATA;
	}
	if (recfile_is_recording(ahead.head, 1))
		err = load_recording(ahead.file, name, opts, ret_profile);
	else if (gzip_is(ahead.head, ahead.size) && !expanded)
		err = load_gzip(ahead.file, name, opts, ret_profile);
	else if (perf_data_is(ahead.head, ahead.size))
		err = load_perf(ahead.file, name, opts, ret_profile);
	else
		err = load_imported(&ahead, name, opts, ret_profile);
	if (!err && opts->ret_note && !*opts->ret_note)
		*opts->ret_note = xstrdup("");
	lookahead_fini(&ahead);
	return err;
}

/* Reads all segments. Frames that their recorders could not name are looked up here. */
static int load_folder(const char *path, const struct load_opts *opts, struct profile **ret_profile)
{
	char *note;
	int err = folder_load(path, opts, ret_profile, &note);

	if (err)
		return err;
	if (!opts->no_warnings)
		warn(*ret_profile, path, note);
	if (opts->ret_note)
		*opts->ret_note = note;
	else
		free(note);
	if (!opts->no_symbols)
		symbolize(*ret_profile, opts);
	return 0;
}

/* The bytes of a file from here to its end; 0 for a pipe. */
static uint64_t size_of(FILE *f)
{
	off_t at = ftello(f);
	struct stat st;

	return at >= 0 && !fstat(fileno(f), &st) && S_ISREG(st.st_mode) && st.st_size > at
		       ? (uint64_t)(st.st_size - at)
		       : 0;
}

/* Applies the filter; reports it if it needs what the profile does not have. */
static int filter(struct profile *p, const char *name, const struct load_opts *opts)
{
	const struct live_choice at_end = { .kind = LIVE_AT_END };
	const char *lacks;
	int err;

	if (!opts->filter || !filter_has_live(opts->filter))
		live_apply(&at_end, p, &lacks); /* no effect where frees are not known */
	err = opts->filter ? filter_apply(opts->filter, p, &lacks) : 0;

	if (err)
		log_error(0, "filter '%s': it holds no %s", name, lacks);
	else if (opts->on_whole_stacks)
		opts->on_whole_stacks(p, opts->context);
	if (!err && opts->filter)
		filter_apply_to_stacks(opts->filter, p);
	return err;
}

static bool names_a_mark(const struct load_opts *opts)
{
	return opts->filter && (filter_from(opts->filter).kind == MOMENT_OF_MARK ||
				filter_to(opts->filter).kind == MOMENT_OF_MARK);
}

static int load_file(const char *path, const char *name, const struct load_opts *opts,
		     struct profile **ret_profile)
{
	FILE *f = NULL;
	int err = open_input(path, &f);

	if (err)
		return err;
	if (names_a_mark(opts)) {
		log_error(0, "find marks in '%s': only a folder of segments has them", name);
		if (f != stdin)
			fclose(f);
		return -ENODATA;
	}
	memory_guard_begin(name, size_of(f));
	err = load(f, name, opts, false, ret_profile);
	memory_guard_end();
	if (f != stdin)
		fclose(f);
	return err;
}

/* Checks --host for a file; from a folder, segments of other hosts were not read. */
static int check_host(const struct profile *p, const char *name, const struct load_opts *opts)
{
	const char *want = opts->filter ? filter_host(opts->filter) : NULL;

	if (!want || !strcmp(want, profile_str(p, p->meta.hostname)))
		return 0;
	log_error(0, "show what '%s' recorded on %s: it was recorded on %s", name, want,
		  p->meta.hostname ? profile_str(p, p->meta.hostname) : "an unknown host");
	return -ENODATA;
}

int profile_load(const char *path, const struct load_opts *opts, struct profile **ret_profile)
{
	static const struct load_opts defaults;
	struct profile *p = NULL;
	const char *name = !path ? LOAD_DEFAULT_PATH : strcmp(path, "-") ? path : "standard input";
	int err;

	opts = opts ? opts : &defaults;
	if (opts->ret_note)
		*opts->ret_note = NULL;
	if (path && strcmp(path, "-") && segments_is_folder(path))
		err = load_folder(path, opts, &p);
	else
		err = load_file(path, name, opts, &p);
	if (!err && p->nr_stacks_left_out && !opts->no_warnings)
		log_warning("%" PRIu64
			    " stacks are left out, and their samples shown as %s: '%s' has "
			    "more than there is room for",
			    p->nr_stacks_left_out, marker_name(MARKER_OVER_LIMIT), name);
	if (!err)
		err = check_host(p, name, opts);
	if (!err)
		err = check_event(p, name, opts);
	if (!err)
		err = filter(p, name, opts);
	if (!err) {
		*ret_profile = p;
		return 0;
	}
	profile_free(p);
	if (opts->ret_note) {
		free(*opts->ret_note);
		*opts->ret_note = NULL;
	}
	return err;
}
