/*
 * A file is read into a profile of its own, because it may hold far more frames than the segments
 * need, and anything else: only names of frames of its build-id are taken. To add frames, the file
 * is written again, which becomes rare once a program has been sampled for a while.
 */
#include "core/segments/names_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/profile/profile.h"
#include "core/profile/source.h"
#include "core/recording/recfile.h"
#include "core/rights/safe_open.h"

#define NAME_SIZE (2 * BUILD_ID_MAX + 1)
#define MAX_NAMES_BYTES (256u << 20) /* of a file that is read */

/* The frames of one module, by address. */
struct by_address {
	uint64_t address;
	uint32_t frame;
};

static int compare(const void *a, const void *b)
{
	const struct by_address *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

/* Frames by module: those of module m are at first[m] up to first[m + 1]. */
struct frames {
	uint32_t *first, *frames;
};

static void frames_init(struct frames *f, const struct profile *p)
{
	f->first = xcalloc(p->nr_modules + 2, sizeof(*f->first));
	f->frames = xcalloc(p->nr_frames + 1, sizeof(*f->frames));
	for (size_t i = 0; i < p->nr_frames; i++)
		f->first[p->frames[i].module + 2]++;
	for (size_t m = 2; m < p->nr_modules + 2; m++)
		f->first[m] += f->first[m - 1];
	for (size_t i = 0; i < p->nr_frames; i++)
		f->frames[f->first[p->frames[i].module + 1]++] = (uint32_t)i;
}

static void frames_fini(struct frames *f)
{
	free(f->first);
	free(f->frames);
}

bool names_folder_has(const struct profile_module *m)
{
	return m->kind == MODULE_ELF && m->build_id_size > 0;
}

static void name_of(const struct profile_module *m, char name[NAME_SIZE])
{
	name[0] = '\0';
	for (uint8_t i = 0; i < m->build_id_size; i++)
		snprintf(name + 2 * (size_t)i, 3, "%02x", m->build_id[i]);
}

static bool same_build(const struct profile_module *a, const struct profile_module *b)
{
	return names_folder_has(a) && a->build_id_size == b->build_id_size &&
	       !memcmp(a->build_id, b->build_id, a->build_id_size);
}

/* Reads the names that are kept for a module; NULL: there are none. */
static struct profile *read_names(int names, const struct profile_module *m)
{
	struct profile *p = NULL;
	char name[NAME_SIZE], *note;
	FILE *f;
	int fd;

	name_of(m, name);
	fd = safe_open_in_root_no_link(names, name, MAX_NAMES_BYTES);
	if (fd < 0)
		return NULL;
	f = fdopen(fd, "rb");
	if (!f) {
		close(fd);
		return NULL;
	}
	if (recfile_read(f, &p, &note))
		p = NULL;
	else
		free(note);
	fclose(f);
	return p;
}

/* The frames with the build-id of `m`, by address. Several modules may have it. */
static struct by_address *sort_frames(const struct profile *p, const struct profile_module *m,
				      size_t *ret_nr)
{
	struct by_address *sorted = xcalloc(p->nr_frames + 1, sizeof(*sorted));
	size_t nr = 0;

	for (size_t i = 0; i < p->nr_frames; i++)
		if (same_build(&p->modules[p->frames[i].module], m))
			sorted[nr++] = (struct by_address){ p->frames[i].address, (uint32_t)i };
	qsort(sorted, nr, sizeof(*sorted), compare);
	*ret_nr = nr;
	return sorted;
}

/* Copies functions of one profile to another when they are needed. */
struct copying {
	const struct profile *from;
	struct profile *to;
	uint32_t *functions; /* PROFILE_NONE: not copied */
	struct profile_location *locations;
	size_t capacity;
};

static void copying_init(struct copying *c, const struct profile *from, struct profile *to)
{
	*c = (struct copying){ .from = from, .to = to };
	c->functions = xcalloc(from->nr_functions + 1, sizeof(*c->functions));
	memset(c->functions, 0xff, (from->nr_functions + 1) * sizeof(*c->functions));
}

static void copying_fini(struct copying *c)
{
	free(c->functions);
	free(c->locations);
}

static uint32_t copy_function(struct copying *c, uint32_t id, uint32_t module)
{
	struct profile_function f = c->from->functions[id];

	if (c->functions[id] != PROFILE_NONE)
		return c->functions[id];
	f.name = profile_cstring(c->to, profile_str(c->from, f.name));
	f.system_name = profile_cstring(c->to, profile_str(c->from, f.system_name));
	f.file = profile_cstring(c->to, profile_str(c->from, f.file));
	f.module = f.module == PROFILE_NONE ? PROFILE_NONE : module;
	c->functions[id] = profile_function(c->to, &f);
	return c->functions[id];
}

static void copy_names(struct copying *c, uint32_t from, uint32_t to)
{
	const struct profile_frame *f = &c->from->frames[from];
	uint32_t module = c->to->frames[to].module;

	c->locations =
		xgrow(c->locations, &c->capacity, f->nr_locations + 1, sizeof(*c->locations));
	for (uint32_t i = 0; i < f->nr_locations; i++) {
		c->locations[i] = c->from->locations[f->first_location + i];
		c->locations[i].function = copy_function(c, c->locations[i].function, module);
	}
	profile_set_locations(c->to, to, c->locations, f->nr_locations);
}

static void name_module(const struct profile *kept, struct profile *p, uint32_t module,
			const uint32_t *frames, size_t nr, bool *known)
{
	size_t nr_sorted;
	struct by_address *sorted = sort_frames(kept, &p->modules[module], &nr_sorted);
	struct copying c;

	copying_init(&c, kept, p);
	for (size_t i = 0; i < nr; i++) {
		const struct by_address want = { p->frames[frames[i]].address, 0 };
		const struct by_address *found =
			bsearch(&want, sorted, nr_sorted, sizeof(*sorted), compare);

		if (!found)
			continue;
		if (known)
			known[frames[i]] = true;
		if (!p->frames[frames[i]].nr_locations && kept->frames[found->frame].nr_locations)
			copy_names(&c, found->frame, frames[i]);
	}
	copying_fini(&c);
	free(sorted);
}

void names_folder_read(int names, struct profile *p, bool *known)
{
	struct frames f;

	frames_init(&f, p);
	for (size_t m = 0; m < p->nr_modules; m++) {
		size_t nr = f.first[m + 1] - f.first[m];
		struct profile *kept = NULL;

		if (nr && names_folder_has(&p->modules[m]))
			kept = read_names(names, &p->modules[m]);
		if (kept)
			name_module(kept, p, (uint32_t)m, f.frames + f.first[m], nr, known);
		profile_free(kept);
	}
	frames_fini(&f);
}

/* Puts a frame of the module, with its names, into the vocabulary of a file of names. */
static void add_frame(struct copying *c, uint32_t module, uint32_t frame)
{
	uint32_t to = profile_frame(c->to, module, c->from->frames[frame].address);

	if (c->from->frames[frame].nr_locations && !c->to->frames[to].nr_locations)
		copy_names(c, frame, to);
}

static void add_frames(const struct profile *from, struct profile *to, uint32_t module,
		       const uint32_t *frames, size_t nr)
{
	struct copying c;

	copying_init(&c, from, to);
	for (size_t i = 0; i < nr; i++)
		add_frame(&c, module, frames[i]);
	copying_fini(&c);
}

static uint32_t copy_module(const struct profile *from, uint32_t id, struct profile *to)
{
	struct profile_module m = from->modules[id];

	m.path = profile_cstring(to, profile_str(from, m.path));
	return profile_module(to, &m);
}

static int write_file(int names, const char *name, const struct profile *kept,
		      const struct profile *p, uint32_t module, const uint32_t *frames, size_t nr)
{
	const struct recfile_meta meta = { .version = SPROF_VERSION };
	struct by_address *sorted = NULL;
	char next[NAME_SIZE + 8];
	struct recfile *w = NULL;
	struct profile *v;
	size_t nr_kept = 0;
	uint32_t id;
	int fd, err;

	snprintf(next, sizeof(next), ".%s", name);
	unlinkat(names, next, 0);
	fd = openat(names, next, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	err = fd < 0 ? -errno : recfile_create_in(fd, &meta, &w);
	if (err)
		return err;
	v = recfile_vocabulary(w);
	id = copy_module(p, module, v);
	if (kept)
		sorted = sort_frames(kept, &p->modules[module], &nr_kept);
	if (sorted) {
		uint32_t *ids = xcalloc(nr_kept + 1, sizeof(*ids));

		for (size_t i = 0; i < nr_kept; i++)
			ids[i] = sorted[i].frame;
		add_frames(kept, v, id, ids, nr_kept);
		free(ids);
		free(sorted);
	}
	add_frames(p, v, id, frames, nr);
	err = recfile_write_symbols(w);
	err = err ? err : recfile_finish(w, NULL, 0);
	recfile_free(w);
	if (!err && renameat(names, next, names, name))
		err = -errno;
	if (err)
		unlinkat(names, next, 0);
	return err;
}

/* Does the file hold all of these frames? */
static bool has_all(const struct profile *kept, const struct profile *p, uint32_t module,
		    const uint32_t *frames, size_t nr)
{
	bool all = true;
	size_t nr_sorted;
	struct by_address *sorted = sort_frames(kept, &p->modules[module], &nr_sorted);

	for (size_t i = 0; i < nr && all; i++) {
		const struct by_address want = { p->frames[frames[i]].address, 0 };

		all = bsearch(&want, sorted, nr_sorted, sizeof(*sorted), compare) != NULL;
	}
	free(sorted);
	return all;
}

static int write_module(int names, const struct profile *p, uint32_t module, const uint32_t *frames,
			size_t nr)
{
	struct profile *kept = read_names(names, &p->modules[module]);
	char name[NAME_SIZE];
	int err = 0;

	name_of(&p->modules[module], name);
	if (kept && has_all(kept, p, module, frames, nr))
		utimensat(names, name, NULL, AT_SYMLINK_NOFOLLOW);
	else
		err = write_file(names, name, kept, p, module, frames, nr);
	profile_free(kept);
	return err;
}

int names_folder_write(int names, const struct profile *p)
{
	struct frames f;
	int first = 0;

	frames_init(&f, p);
	for (size_t m = 0; m < p->nr_modules; m++) {
		size_t nr = f.first[m + 1] - f.first[m];
		int err = 0;

		if (nr && names_folder_has(&p->modules[m]))
			err = write_module(names, p, (uint32_t)m, f.frames + f.first[m], nr);
		first = first ? first : err;
	}
	frames_fini(&f);
	return first;
}
