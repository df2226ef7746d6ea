/*
 * A file is read into a profile of its own, because it may hold far more frames than the segments
 * need, and anything else: only names of frames of its ELF file are taken. To add frames, the file
 * is written again, which becomes rare once a program has been sampled for a while.
 */
#include "core/segments/names_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/memory_limit.h"
#include "core/base/number_map.h"
#include "core/base/order.h"
#include "core/base/search.h"
#include "core/profile/profile.h"
#include "core/profile/source.h"
#include "core/recording/recfile.h"
#include "core/rights/safe_open.h"

#define NAME_SIZE (2 * BUILD_ID_MAX + 32 + 1)
#define MAX_NAMES_BYTES (256u << 20) /* of a file that is read */
#define MAX_RUNS (1u << 16)	     /* of a file, so that it is read quickly in each segment */

/* The frames of one module, by address. */
struct by_address {
	uint64_t address;
	uint32_t frame;
};

static int compare(const void *a, const void *b)
{
	const struct by_address *x = a, *y = b;

	return ORDER(x->address, y->address);
}

/* By file; 0: both are the same one, perhaps with two paths. */
static int compare_files(const struct profile_module *a, const struct profile_module *b)
{
	return ORDER(a->build_id_size, b->build_id_size)
	       ?: memcmp(a->build_id, b->build_id, a->build_id_size) ?: ORDER(a->dev, b->dev)
	       ?: ORDER(a->ino, b->ino);
}

static int compare_modules(const void *a, const void *b, void *profile)
{
	const struct profile_module *modules = ((const struct profile *)profile)->modules;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return compare_files(&modules[x], &modules[y]) ?: ORDER(x, y);
}

/* By module: the first one with the same file. The caller frees the array. */
static uint32_t *find_files(const struct profile *p)
{
	uint32_t *sorted = xcalloc(p->nr_modules + 1, sizeof(*sorted));
	uint32_t *files = xcalloc(p->nr_modules + 1, sizeof(*files)), file = 0;

	for (uint32_t m = 0; m < p->nr_modules; m++)
		sorted[m] = m;
	qsort_r(sorted, p->nr_modules, sizeof(*sorted), compare_modules, (void *)p);
	for (size_t i = 0; i < p->nr_modules; i++) {
		const struct profile_module *m = &p->modules[sorted[i]];

		if (!i || !names_folder_has(m) || compare_files(m, &p->modules[file]))
			file = sorted[i];
		files[sorted[i]] = file;
	}
	free(sorted);
	return files;
}

/*
 * Frames by file: those of module m, if it is the first with its file, are first[m]...first[m+1].
 * Frames that begin runs are apart: runs go with the frames near which they were found.
 */
struct frames {
	uint32_t *first, *frames;
};

/* Both kinds: [0] single frames, [1] those that begin runs. */
static void frames_init(struct frames f[2], const struct profile *p)
{
	uint32_t *files = find_files(p);

	for (int runs = 0; runs < 2; runs++) {
		f[runs].first = xcalloc(p->nr_modules + 2, sizeof(*f->first));
		f[runs].frames = xcalloc(p->nr_frames + 1, sizeof(*f->frames));
	}
	for (size_t i = 0; i < p->nr_frames; i++) {
		uint32_t m = p->frames[i].module;

		f[p->modules[m].begins_runs != 0].first[files[m] + 2]++;
	}
	for (int runs = 0; runs < 2; runs++)
		for (size_t m = 2; m < p->nr_modules + 2; m++)
			f[runs].first[m] += f[runs].first[m - 1];
	for (size_t i = 0; i < p->nr_frames; i++) {
		uint32_t m = p->frames[i].module;
		struct frames *of = &f[p->modules[m].begins_runs != 0];

		of->frames[of->first[files[m] + 1]++] = (uint32_t)i;
	}
	free(files);
}

static void frames_fini(struct frames f[2])
{
	for (int runs = 0; runs < 2; runs++) {
		free(f[runs].first);
		free(f[runs].frames);
	}
}

/* The frames of one kind of a file. */
static const uint32_t *frames_of(const struct frames *f, size_t module, size_t *ret_nr)
{
	*ret_nr = f->first[module + 1] - f->first[module];
	return f->frames + f->first[module];
}

bool names_folder_has(const struct profile_module *m)
{
	return m->kind == MODULE_ELF && m->build_id_size > 0;
}

static void name_of(const struct profile_module *m, char name[NAME_SIZE])
{
	size_t size = 2 * (size_t)m->build_id_size;

	for (uint8_t i = 0; i < m->build_id_size; i++)
		snprintf(name + 2 * (size_t)i, 3, "%02x", m->build_id[i]);
	snprintf(name + size, NAME_SIZE - size, "%016" PRIx64 "%016" PRIx64, m->dev, m->ino);
}

static void mark_used(int names, const struct profile_module *m)
{
	char name[NAME_SIZE];

	name_of(m, name);
	utimensat(names, name, NULL, AT_SYMLINK_NOFOLLOW);
}

/* Reads the names that are kept for a module; NULL: there are none. */
static struct profile *read_names(int names, const struct profile_module *m)
{
	struct profile *p = NULL;
	char name[NAME_SIZE], *note;
	struct stat st;
	FILE *f;
	int fd;

	name_of(m, name);
	fd = safe_open_in_root_no_link(names, name, MAX_NAMES_BYTES);
	if (fd < 0)
		return NULL;
	f = fstat(fd, &st) ? NULL : fdopen(fd, "rb");
	if (!f) {
		close(fd);
		return NULL;
	}
	memory_guard_read((uint64_t)st.st_size);
	if (recfile_read(f, &p, &note))
		p = NULL;
	else
		free(note);
	fclose(f);
	return p;
}

/* What is kept for a file, by address: single frames, or those that begin runs. */
struct kept_frames {
	const struct profile *p;
	struct by_address *sorted[2];
	size_t nr[2];
};

/* Of a module; of nothing where `module` is the number of modules. */
static void kept_init(struct kept_frames *k, const struct profile *p, const struct frames f[2],
		      size_t module)
{
	*k = (struct kept_frames){ .p = p };
	for (int runs = 0; runs < 2; runs++) {
		const uint32_t *frames = frames_of(&f[runs], module, &k->nr[runs]);
		struct by_address *sorted = xcalloc(k->nr[runs] + 1, sizeof(*sorted));

		for (size_t i = 0; i < k->nr[runs]; i++)
			sorted[i] = (struct by_address){ p->frames[frames[i]].address, frames[i] };
		qsort(sorted, k->nr[runs], sizeof(*sorted), compare);
		k->sorted[runs] = sorted;
	}
}

/* Of what is kept for the file of `m`. */
static void kept_init_of_file(struct kept_frames *k, const struct profile *p,
			      const struct profile_module *m)
{
	struct frames f[2];
	size_t module = 0;

	while (module < p->nr_modules &&
	       (!names_folder_has(&p->modules[module]) || compare_files(&p->modules[module], m)))
		module++;
	frames_init(f, p);
	kept_init(k, p, f, module);
	frames_fini(f);
}

static void kept_fini(struct kept_frames *k)
{
	free(k->sorted[0]);
	free(k->sorted[1]);
}

/* The frame that begins the run of an address; PROFILE_NONE: it is in none. */
static uint32_t kept_run(const struct kept_frames *k, uint64_t address)
{
	const struct by_address *runs = k->sorted[1];
	size_t nr = SEARCH(i, k->nr[1], runs[i].address <= address);

	return nr && k->p->frames[runs[nr - 1].frame].nr_locations ? runs[nr - 1].frame
								   : PROFILE_NONE;
}

/* The frame with the names of an address; PROFILE_NONE: it was not looked up. */
static uint32_t kept_find(const struct kept_frames *k, uint64_t address)
{
	const struct by_address want = { address, 0 };
	const struct by_address *found =
		bsearch(&want, k->sorted[0], k->nr[0], sizeof(want), compare);

	return found ? found->frame : kept_run(k, address);
}

/* Copies functions of one profile to another when they are needed. */
struct copying {
	const struct profile *from;
	struct profile *to;
	struct number_map functions; /* by number, and by module of `to` */
	struct profile_location *locations;
	size_t capacity;
};

static void copying_fini(struct copying *c)
{
	number_map_fini(&c->functions);
	free(c->locations);
}

static uint32_t copy_function(struct copying *c, uint32_t id, uint32_t module)
{
	struct profile_function f = c->from->functions[id];
	bool is_new;
	uint32_t *copy = number_map_at(&c->functions, (uint64_t)id << 32 | module, &is_new);

	if (!is_new)
		return *copy;
	f.name = profile_cstring(c->to, profile_str(c->from, f.name));
	f.system_name = profile_cstring(c->to, profile_str(c->from, f.system_name));
	f.file = profile_cstring(c->to, profile_str(c->from, f.file));
	f.module = f.module == PROFILE_NONE ? PROFILE_NONE : module;
	*copy = profile_function(c->to, &f);
	return *copy;
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
	struct copying c = { .from = kept, .to = p };
	struct kept_frames k;

	kept_init_of_file(&k, kept, &p->modules[module]);
	for (size_t i = 0; i < nr; i++) {
		uint32_t found = kept_find(&k, p->frames[frames[i]].address);

		if (found == PROFILE_NONE)
			continue;
		if (known)
			known[frames[i]] = true;
		if (!p->frames[frames[i]].nr_locations && kept->frames[found].nr_locations)
			copy_names(&c, found, frames[i]);
	}
	copying_fini(&c);
	kept_fini(&k);
}

void names_folder_read(int names, struct profile *p, bool *known)
{
	struct frames f[2];

	frames_init(f, p);
	for (size_t m = 0; m < p->nr_modules; m++) {
		struct profile *kept = NULL;
		size_t nr;
		const uint32_t *frames = frames_of(&f[0], m, &nr);

		if (nr && names_folder_has(&p->modules[m]))
			kept = read_names(names, &p->modules[m]);
		if (kept)
			name_module(kept, p, (uint32_t)m, frames, nr, known);
		if (kept && known)
			mark_used(names, &p->modules[m]);
		profile_free(kept);
	}
	frames_fini(f);
}

/* Puts a frame, with its names, into the vocabulary of a file of names. */
static void add_frame(struct copying *c, uint32_t module, uint32_t frame)
{
	uint32_t to = profile_frame(c->to, module, c->from->frames[frame].address);

	if (c->from->frames[frame].nr_locations && !c->to->frames[to].nr_locations)
		copy_names(c, frame, to);
}

/* A file of names while it is written. */
struct names_file {
	struct recfile *file;
	struct profile *p;
	uint32_t modules[2]; /* of single frames, and of those that begin runs */
};

/* Adds frames of one of the two kinds, but not the end of a run that goes on in `others`. */
static void add_frames(struct names_file *f, const struct kept_frames *k,
		       const struct kept_frames *others, int runs)
{
	struct copying c = { .from = k->p, .to = f->p };

	for (size_t i = 0; i < k->nr[runs]; i++) {
		const struct by_address *at = &k->sorted[runs][i];

		if (runs && !k->p->frames[at->frame].nr_locations &&
		    kept_run(others, at->address) != PROFILE_NONE)
			continue;
		add_frame(&c, f->modules[runs], at->frame);
	}
	copying_fini(&c);
}

/* Creates the file under another name. */
static int create_file(struct names_file *f, int names, const char *next,
		       const struct profile *from, uint32_t module)
{
	const struct recfile_meta meta = { .version = SPROF_VERSION };
	struct profile_module m = from->modules[module];
	int fd, err;

	unlinkat(names, next, 0);
	fd = openat(names, next, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	err = fd < 0 ? -errno : recfile_create_in(fd, &meta, &f->file);
	if (err)
		return err;
	f->p = recfile_vocabulary(f->file);
	m.path = profile_cstring(f->p, profile_str(from, m.path));
	for (uint32_t runs = 0; runs < 2; runs++) {
		m.begins_runs = runs;
		f->modules[runs] = profile_module(f->p, &m);
	}
	return 0;
}

static int write_file(int names, const struct kept_frames *kept, const struct profile *p,
		      const struct frames frames[2], uint32_t module)
{
	struct kept_frames new;
	char name[NAME_SIZE], next[NAME_SIZE + 8];
	struct names_file f;
	int err;

	name_of(&p->modules[module], name);
	snprintf(next, sizeof(next), ".%s", name);
	err = create_file(&f, names, next, p, module);
	if (err)
		return err;
	kept_init(&new, p, frames, module);
	for (int runs = 0; runs < 2; runs++) {
		if (kept->p)
			add_frames(&f, kept, &new, runs);
		if (!runs || kept->nr[1] < MAX_RUNS)
			add_frames(&f, &new, kept, runs);
	}
	kept_fini(&new);
	err = recfile_write_symbols(f.file);
	err = err ? err : recfile_finish(f.file, NULL, 0);
	recfile_free(f.file);
	if (!err && renameat(names, next, names, name))
		err = -errno;
	if (err)
		unlinkat(names, next, 0);
	return err;
}

/* Does the file hold all of these frames? */
static bool has_all(const struct kept_frames *kept, const struct profile *p, const uint32_t *frames,
		    size_t nr)
{
	bool all = true;

	for (size_t i = 0; i < nr && all; i++)
		all = kept_find(kept, p->frames[frames[i]].address) != PROFILE_NONE;
	return all;
}

static int write_module(int names, const struct profile *p, const struct frames f[2],
			uint32_t module)
{
	struct kept_frames k = { 0 };
	struct profile *kept;
	size_t nr;
	const uint32_t *frames = frames_of(&f[0], module, &nr);
	int err = 0;

	if (!nr || !names_folder_has(&p->modules[module]))
		return 0;
	kept = read_names(names, &p->modules[module]);
	if (kept)
		kept_init_of_file(&k, kept, &p->modules[module]);
	if (kept && has_all(&k, p, frames, nr))
		mark_used(names, &p->modules[module]);
	else
		err = write_file(names, &k, p, f, module);
	kept_fini(&k);
	profile_free(kept);
	return err;
}

int names_folder_write(int names, const struct profile *p)
{
	struct frames f[2];
	int first = 0;

	frames_init(f, p);
	for (size_t m = 0; m < p->nr_modules; m++) {
		int err = write_module(names, p, f, (uint32_t)m);

		first = first ? first : err;
	}
	frames_fini(f);
	return first;
}
