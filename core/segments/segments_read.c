/*
 * Names of files say when segments began, so most of those outside the wanted time are never
 * opened. The others are decoded straight into one profile, which interns what segments have in
 * common.
 */
#include "core/segments/segments_read.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/order.h"
#include "core/profile/profile.h"
#include "core/recording/recfile.h"
#include "core/rights/list_folder.h"
#include "core/rights/safe_open.h"
#include "core/segments/folder.h"
#include "core/segments/marks.h"
#include "core/segments/names_folder.h"
#include "core/segments/segment_name.h"

#define MAX_SEGMENTS (1u << 20)
#define MAX_SEGMENT_BYTES (4ull << 30)
/* A sample may reach its segment later: a recorder that is busy handles it after the turn. */
#define LATE_NS UINT64_C(10000000000)

struct segment {
	uint64_t began_ns;   /* Unix time, by its name */
	uint64_t written_ns; /* when its file was last written: not before the segment ended */
	uint64_t size_bytes;
	char name[SEGMENT_NAME_SIZE];
};

struct reading {
	int folder;
	const struct segments_wanted *wanted;
	struct segment *segments;
	size_t nr, capacity;
	uint64_t from_ns, to_ns; /* Unix time */
	char **boots;		 /* boots that were seen; the index tells kernels apart */
	size_t nr_boots, boots_capacity;
	uint64_t zero_realtime_ns;
	struct profile *p;
	struct segments_found found;
};

bool segments_is_folder(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

static int compare(const void *a, const void *b)
{
	const struct segment *x = a, *y = b;

	return ORDER(x->began_ns, y->began_ns);
}

static void list(struct reading *r)
{
	DIR *d = list_folder(r->folder, ".");
	struct dirent *e;
	struct stat st;

	while (d && r->nr < MAX_SEGMENTS && (e = readdir(d))) {
		struct segment s;

		if (!segment_name_parse(e->d_name, &s.began_ns) ||
		    fstatat(r->folder, e->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
			continue;
		s.size_bytes = (uint64_t)st.st_size;
		memcpy(s.name, e->d_name, strlen(e->d_name) + 1); /* its length was checked */
		s.written_ns = st.st_mtim.tv_sec < 0 ? 0
						     : (uint64_t)st.st_mtim.tv_sec * NS_PER_S +
							       (uint64_t)st.st_mtim.tv_nsec;
		r->segments = xgrow(r->segments, &r->capacity, r->nr + 1, sizeof(*r->segments));
		r->segments[r->nr++] = s;
		r->found.size_bytes += s.size_bytes;
	}
	if (d)
		closedir(d);
	if (r->nr)
		qsort(r->segments, r->nr, sizeof(*r->segments), compare);
	r->found.nr = r->nr;
}

static FILE *open_segment(const struct reading *r, const struct segment *s)
{
	int fd = safe_open_in_root_no_link(r->folder, s->name, MAX_SEGMENT_BYTES);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "rb");

	if (fd >= 0 && !f)
		close(fd);
	return f;
}

/* When the last readable segment ended; if it is still written, the time of its last sample. */
static uint64_t end_of_all(struct reading *r)
{
	struct profile *p;
	uint64_t end = 0;
	char *note;
	FILE *f;

	for (size_t i = r->nr; i-- > 0 && !end;) {
		f = open_segment(r, &r->segments[i]);
		if (f && !recfile_read(f, &p, &note)) {
			if (!r->wanted->host ||
			    !strcmp(r->wanted->host, profile_str(p, p->meta.hostname)))
				end = p->meta.end_ns > p->meta.start_ns
					      ? p->meta.start_realtime_ns + p->meta.end_ns -
							p->meta.start_ns
					      : p->meta.start_realtime_ns;
			free(note);
			profile_free(p);
		}
		if (f)
			fclose(f);
	}
	return end;
}

static void set_window(struct reading *r)
{
	const struct moment *from = &r->wanted->from, *to = &r->wanted->to;
	bool needs_end = from->kind == MOMENT_BEFORE_END || to->kind == MOMENT_BEFORE_END;
	uint64_t start = r->segments[0].began_ns, end = needs_end ? end_of_all(r) : 0;

	r->from_ns = from->kind == MOMENT_NOT_SET ? 0 : moment_time(from, start, end);
	r->to_ns = to->kind == MOMENT_NOT_SET ? UINT64_MAX : moment_time(to, start, end);
	/* From the very beginning means all, as a sample may be older than its segment. */
	if (from->kind == MOMENT_AFTER_START && !from->ns)
		r->from_ns = 0;
}

/* Can it hold samples of the wanted time? Segments of several hosts overlap. */
static bool is_in_window(const struct reading *r, const struct segment *s)
{
	if (r->to_ns < UINT64_MAX - LATE_NS && s->began_ns >= r->to_ns + LATE_NS)
		return false;
	return s->written_ns + LATE_NS >= r->from_ns || s->began_ns >= r->from_ns;
}

static uint32_t number_of_boot(void *context, const char *host, const char *boot)
{
	struct reading *r = context;
	char *both = xasprintf("%s/%s", host, boot);

	for (size_t i = 0; i < r->nr_boots; i++)
		if (!strcmp(r->boots[i], both)) {
			free(both);
			return (uint32_t)i;
		}
	r->boots = xgrow(r->boots, &r->boots_capacity, r->nr_boots + 1, sizeof(*r->boots));
	r->boots[r->nr_boots] = both;
	return (uint32_t)r->nr_boots++;
}

/* Adds a segment. false: it cannot be read. */
static bool add_segment(struct reading *r, const struct segment *s)
{
	struct recfile_part part = {
		.from_realtime_ns = r->from_ns,
		.to_realtime_ns = r->to_ns,
		.host = r->wanted->host,
		.number_of_boot = number_of_boot,
		.context = r,
		.number = (uint32_t)r->found.nr_read,
		.zero_realtime_ns = r->zero_realtime_ns,
	};
	FILE *f = open_segment(r, s);
	char *note;
	int err;

	if (!f)
		return false;
	err = recfile_add(f, r->p, &part, &note);
	fclose(f);
	if (err)
		return err == -ENOENT; /* of another host */
	r->found.nr_read++;
	r->found.nr_unfinished += *note != '\0';
	r->zero_realtime_ns = part.zero_realtime_ns;
	free(note);
	return true;
}

/* Cuts the profile's start and end to the wanted time. */
static void cut_times(struct reading *r)
{
	struct profile_meta *m = &r->p->meta;
	uint64_t zero = r->zero_realtime_ns;

	m->is_cut = true;
	if (r->from_ns > zero && r->from_ns - zero > m->start_ns) {
		m->start_realtime_ns += r->from_ns - zero - m->start_ns;
		m->start_ns = r->from_ns - zero;
	}
	if (r->to_ns > zero && r->to_ns - zero < m->end_ns)
		m->end_ns = r->to_ns - zero;
}

static bool is_recorded_into(int folder)
{
	int fd = safe_open_in_root_no_link(folder, "lock", 4096);
	struct flock lock = { .l_type = F_WRLCK };
	bool locked = fd >= 0 && !fcntl(fd, F_OFD_GETLK, &lock) && lock.l_type != F_UNLCK;

	if (fd >= 0)
		close(fd);
	return locked;
}

/* Keeps the marks of the wanted time. */
static void find_marks(struct reading *r)
{
	size_t nr, kept = 0;
	struct mark *marks = marks_read(r->folder, &nr);

	for (size_t i = 0; i < nr; i++)
		if (marks[i].realtime_ns >= r->from_ns && marks[i].realtime_ns < r->to_ns)
			marks[kept++] = marks[i];
	r->found.marks = marks;
	r->found.nr_marks = kept;
}

static void read_names(struct reading *r)
{
	int names = folder_open_names(r->folder);

	if (names < 0)
		return;
	names_folder_read(names, r->p, NULL);
	close(names);
}

static void read_window(struct reading *r)
{
	if (r->wanted->tell_size)
		r->wanted->tell_size(r->wanted->context, r->found.size_bytes);
	set_window(r); /* it may read a segment */
	for (size_t i = 0; i < r->nr; i++)
		if (is_in_window(r, &r->segments[i]) && !add_segment(r, &r->segments[i]))
			r->found.nr_unreadable++;
	if (r->found.nr_read) {
		cut_times(r);
		if (!r->wanted->no_names)
			read_names(r);
	}
}

int segments_read(int folder, const struct segments_wanted *wanted, struct profile **ret_profile,
		  struct segments_found *ret_found)
{
	struct reading r = { .folder = folder, .wanted = wanted, .p = profile_new() };
	int err = 0;

	r.found.is_recorded_into = is_recorded_into(folder);
	list(&r);
	if (r.nr)
		read_window(&r);
	if (r.nr && wanted->with_marks)
		find_marks(&r);
	if (!r.found.nr_read)
		err = -ENODATA;
	if (!err) {
		/* Segments that are written or named now are not unfinished. */
		if (r.found.is_recorded_into && r.found.nr_unfinished <= 3)
			r.p->meta.unfinished = false;
		*ret_profile = r.p;
	} else {
		profile_free(r.p);
	}
	*ret_found = r.found;
	for (size_t i = 0; i < r.nr_boots; i++)
		free(r.boots[i]);
	free(r.boots);
	free(r.segments);
	return err;
}
