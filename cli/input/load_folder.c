/* core/segments reads the folder; this file reports what is missing, or why nothing was found. */
#include "cli/input/load_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "cli/input/load.h"
#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/base/memory_limit.h"
#include "core/profile/profile.h"
#include "core/segments/marks.h"
#include "core/segments/segments_read.h"
#include "output/select/filter.h"

static void say_nothing_found(const char *path, const struct segments_found *found,
			      const struct segments_wanted *wanted)
{
	if (!found->nr) {
		log_error(0, "read '%s': it is a folder without segments", path);
		log_hint("sprof record --continuous %s -a records into it", path);
	} else if (found->nr_unreadable) {
		log_error(0, "read '%s': %zu of its segments cannot be read", path,
			  found->nr_unreadable);
	} else {
		log_error(0, "show '%s': none of its %zu segments is of that %s", path, found->nr,
			  wanted->host ? "time and host" : "time");
		log_hint("sprof info %s says what it holds", path);
	}
}

static char *note_of(const struct profile *p, const struct segments_found *found)
{
	if (!p->meta.unfinished)
		return xstrdup("");
	return xasprintf("%zu of %zu segments are not finished: their recorder was killed, or they "
			 "are damaged",
			 found->nr_unfinished, found->nr_read);
}

/* Limits memory by the size of the segments, as is done for a file. */
static void begin_guard(void *context, uint64_t bytes)
{
	memory_guard_begin(context, bytes);
}

/* Turns a mark into its time of day. 0 or -ENODATA, reported. */
static int find_mark(int folder, const char *path, struct moment *m)
{
	if (m->kind != MOMENT_OF_MARK)
		return 0;
	if (marks_find(folder, m->mark, &m->ns)) {
		log_error(0, "find the mark '%s' in '%s'", m->mark, path);
		log_hint("sprof info %s shows the marks", path);
		return -ENODATA;
	}
	m->kind = MOMENT_OF_DAY;
	return 0;
}

int folder_load(const char *path, const struct load_opts *opts, struct profile **ret_profile,
		char **ret_note)
{
	struct segments_wanted wanted = {
		.no_names = opts->no_symbols,
		.with_marks = opts->ret_found != NULL,
		.tell_size = begin_guard,
		.context = (void *)path,
	};
	struct segments_found found;
	int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC), err;

	if (fd < 0) {
		err = errno;
		log_error(err, "open '%s'", path);
		return -err;
	}
	if (opts->filter) {
		wanted.from = filter_from(opts->filter);
		wanted.to = filter_to(opts->filter);
		wanted.host = filter_host(opts->filter);
	}
	err = find_mark(fd, path, &wanted.from);
	err = err ? err : find_mark(fd, path, &wanted.to);
	if (err) {
		close(fd);
		return err;
	}
	err = segments_read(fd, &wanted, ret_profile, &found);
	memory_guard_end();
	close(fd);
	if (opts->ret_found)
		*opts->ret_found = found;
	if (err) {
		say_nothing_found(path, &found, &wanted);
		return err;
	}
	if (found.nr_unreadable && !opts->no_warnings)
		log_warning("%zu of %zu segments in '%s' cannot be read", found.nr_unreadable,
			    found.nr, path);
	*ret_note = note_of(*ret_profile, &found);
	return 0;
}
