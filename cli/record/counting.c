/*
 * Connects the calls that the user asked for with the files that have them. A file is searched
 * once, when it is first seen mapped. In files that are mapped before counting begins every call is
 * counted; in files mapped later, the calls until sprof saw the file are missing, and the row of
 * the function says so.
 */
#include "cli/record/counting.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/record/needed_files.h"
#include "cli/record/python_counts.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/untrusted/remote_read.h"
#include "core/rights/privileges.h"
#include "core/base/path.h"
#include "core/rights/safe_open.h"
#include "core/profile/source.h"
#include "output/text/text.h"
#include "sampler/call_counts.h"
#include "sampler/target/open_mapped.h"
#include "sampler/target/proc_maps.h"
#include "core/base/proc_status.h"
#include "symbolizer/confined_functions.h"

#define LOOK_NS (100ull * 1000 * 1000)
#define LOOK_SHARE 50 /* searching takes at most a 50th of the time, except in new programs */

struct spec {
	const char *text;
	char *module; /* glob of a base name, or a path; NULL: any */
	const char *function;
	int event;	     /* enum call_counts_event of Python; -1: a native function */
	bool found, refused; /* refused, and the reason was reported */
	size_t nr_refused;   /* functions that the kernel counts */
};

/* A native function that has a probe. */
struct counted {
	uint32_t probe;
	char *name, *path;
	uint64_t late_ns; /* how long after the beginning calls were not counted */
};

struct seen_file {
	uint64_t dev, ino;
};

struct record_calls {
	struct call_counts *probes;
	const struct sandbox *sandbox; /* where symbols are read */
	bool system_wide;
	struct spec *specs;
	size_t nr_specs;
	struct counted *functions;
	size_t nr_functions, functions_capacity;
	struct seen_file *seen;
	size_t nr_seen, seen_capacity;
	uint64_t begin_ns; /* 0: not found yet */
	uint64_t next_look_ns, nr_execs;
	struct python_counts *python;
};

/* ---- what the user asked for */

bool record_calls_is_spec(const char *text)
{
	size_t n = strlen(text);

	return n && text[n - 1] != ':' && text[0] != ':';
}

/* Finds the first ':' that is not part of a '::'. */
static const char *module_end(const char *text)
{
	for (const char *at = text; (at = strchr(at, ':')); at += strspn(at, ":"))
		if (at[1] != ':')
			return at;
	return NULL;
}

static struct spec parse_spec(const char *text)
{
	const char *end = module_end(text), *function = end ? end + 1 : text;

	return (struct spec){
		.text = text,
		.module = end ? strndup(text, (size_t)(end - text)) : NULL,
		.function = function,
		.event = python_counts_event(function),
	};
}

static bool fits_module(const struct spec *s, const char *path, const struct stat *file)
{
	enum rights before;
	struct stat named;
	bool found;

	if (!s->module)
		return true;
	if (!strchr(s->module, '/'))
		return !fnmatch(s->module, path_base_name(path), 0);
	before = privileges_use(RIGHTS_OF_CALLER);
	found = !stat(s->module, &named);
	privileges_use(before);
	return found && named.st_dev == file->st_dev && named.st_ino == file->st_ino;
}

/* ---- files */

static uint64_t late_ns(const struct record_calls *c)
{
	uint64_t now = monotonic_ns();

	return c->begin_ns && now > c->begin_ns ? now - c->begin_ns : 0;
}

/* Says once why something that was asked for is not counted. */
static void refuse(struct spec *s, const char *why)
{
	if (!s->refused)
		log_warning("calls of '%s' are not counted%s", s->text, why);
	s->refused = true;
}

static void keep_function(struct record_calls *c, struct spec *spec, const char *path, int probe,
			  struct named_function *f)
{
	if (probe == -ENOSPC) {
		refuse(spec, " any further: it fits too many functions");
	} else if (probe < 0) {
		log_debug("a probe at %s: %s", f->name, strerror(-probe));
		spec->nr_refused++;
	} else {
		c->functions = xgrow(c->functions, &c->functions_capacity, c->nr_functions + 1,
				     sizeof(*c->functions));
		c->functions[c->nr_functions++] =
			(struct counted){ (uint32_t)probe, f->name, xstrdup(path), late_ns(c) };
		f->name = NULL;
	}
}

/* `of` has the specs by the number of their glob. */
static void attach_functions(struct record_calls *c, struct spec **of, int fd, const char *path,
			     struct named_function *functions, size_t nr)
{
	uint64_t *offsets = xcalloc(nr + 1, sizeof(*offsets));
	int *probes = xcalloc(nr + 1, sizeof(*probes));
	size_t kept = 0;

	for (size_t i = 0; i < nr; i++) {
		of[functions[i].glob]->found = true;
		if (!functions[i].is_resolver)
			offsets[kept++] = functions[i].offset;
		else if (!strpbrk(of[functions[i].glob]->function, "*?["))
			refuse(of[functions[i].glob],
			       ": it is chosen when the program is linked (IFUNC), name what it "
			       "becomes: sprof report shows that");
	}
	call_counts_attach(c->probes, fd, offsets, kept, probes);
	kept = 0;
	for (size_t i = 0; i < nr; i++)
		if (!functions[i].is_resolver)
			keep_function(c, of[functions[i].glob], path, probes[kept++],
				      &functions[i]);
	free(probes);
	free(offsets);
}

static void attach_python(struct record_calls *c, struct spec *spec, int fd)
{
	enum call_counts_event event = (enum call_counts_event)spec->event;
	enum call_counts_python answer = call_counts_attach_python(c->probes, fd, event);

	spec->found |= answer != CALL_PROBES_NO_PYTHON;
	if (answer == CALL_PROBES_PYTHON)
		python_counts_late(c->python, event, late_ns(c));
	if (answer == CALL_PROBES_NOT_EACH)
		refuse(spec, ": this CPython, 3.11, does not pass its probe at each call");
	if (answer == CALL_PROBES_NOT_BUILT_IN)
		refuse(spec, event == CALL_PROBES_FUNCTIONS
				     ? ": this CPython has no probe function__entry: 3.8 to 3.10 "
				       "and 3.15 have one where they were built --with-dtrace, as "
				       "distributions do"
				     : ": this CPython has no probes: it has to be built "
				       "--with-dtrace, as distributions do");
	if (answer == CALL_PROBES_FAILED)
		refuse(spec, ": the kernel refuses the probe (-v says why)");
}

static bool find_functions(const struct record_calls *c, int fd, pid_t pid, const char *path,
			   const char *const *globs, size_t nr_globs,
			   struct named_function **ret_functions, size_t *ret_nr)
{
	int err = confined_functions_find(c->sandbox, fd, pid, path, globs, nr_globs, ret_functions,
					  ret_nr);

	if (err == -ECHILD || err == -ETIMEDOUT || err == -EBADMSG)
		log_warning("calls of functions in '%s' are not counted: the process that reads it "
			    "%s",
			    path,
			    err == -ECHILD	? "died"
			    : err == -ETIMEDOUT ? "took too long"
						: "answered nonsense");
	return !err;
}

/* `path` is one of process pid, or ours (0). */
static void look_into(struct record_calls *c, int fd, pid_t pid, const char *path,
		      const struct stat *file)
{
	const char **globs = xcalloc(c->nr_specs, sizeof(*globs));
	struct spec **of = xcalloc(c->nr_specs, sizeof(*of));
	struct named_function *functions = NULL;
	size_t nr_globs = 0, nr = 0;

	for (size_t i = 0; i < c->nr_specs; i++) {
		struct spec *s = &c->specs[i];

		if (!fits_module(s, path, file))
			continue;
		if (s->event >= 0) {
			attach_python(c, s, fd);
		} else {
			of[nr_globs] = s;
			globs[nr_globs++] = s->function;
		}
	}
	if (nr_globs && find_functions(c, fd, pid, path, globs, nr_globs, &functions, &nr)) {
		attach_functions(c, of, fd, path, functions, nr);
		function_names_free(functions, nr);
	}
	free(of);
	free(globs);
}

static bool is_new_file(struct record_calls *c, uint64_t dev, uint64_t ino)
{
	for (size_t i = 0; i < c->nr_seen; i++)
		if (c->seen[i].ino == ino && c->seen[i].dev == dev)
			return false;
	c->seen = xgrow(c->seen, &c->seen_capacity, c->nr_seen + 1, sizeof(*c->seen));
	c->seen[c->nr_seen++] = (struct seen_file){ dev, ino };
	return true;
}

/* Owns fd afterwards; a negative one is fine. */
static void take_file(struct record_calls *c, int fd, pid_t pid, const char *path)
{
	struct stat file;

	if (fd < 0)
		return;
	if (!fstat(fd, &file) && is_new_file(c, file.st_dev, file.st_ino))
		look_into(c, fd, pid, path, &file);
	close(fd);
}

/* A file that the caller named, or that a program needs which the caller named. */
static void take_path(void *context, const char *path)
{
	enum rights before = privileges_use(RIGHTS_OF_CALLER);
	int fd = safe_open(path, SAFE_OPEN_ELF_MAX);
	char real[PATH_MAX];

	if (realpath(path, real))
		path = real;
	privileges_use(RIGHTS_BORROWED);
	take_file(context, fd, 0, path);
	privileges_use(before);
}

/*
 * /proc and stat(2) can disagree on a file's device (btrfs, overlayfs), so the one of /proc is kept
 * apart.
 */
static void look_at_process(struct record_calls *c, pid_t pid)
{
	FILE *f = remote_open(pid, "maps");
	char *line = NULL;
	size_t size = 0;

	while (f && getline(&line, &size, f) > 0) {
		struct file_mapping m = { .pid = pid };
		bool executable = false;

		if (proc_maps_parse(line, &m, &executable) && executable && m.ino &&
		    m.path[0] == '/' && is_new_file(c, ~m.dev, m.ino))
			take_file(c, open_mapped(&m), pid, m.path);
	}
	free(line);
	if (f)
		fclose(f);
}

static void look_at_all(struct record_calls *c)
{
	struct dirent *entry;
	DIR *dir = opendir("/proc");

	while (dir && (entry = readdir(dir)))
		if (atoi(entry->d_name) > 0 && atoi(entry->d_name) != getpid())
			look_at_process(c, atoi(entry->d_name));
	if (dir)
		closedir(dir);
}

/* ---- the course of a recording */

int record_calls_new(const char *const *specs, size_t nr_specs, bool system_wide, bool no_children,
		     const char *program, const struct sandbox *sandbox,
		     struct record_calls **ret_calls)
{
	struct record_calls *c;
	int err;

	*ret_calls = NULL;
	if (!nr_specs)
		return 0;
	c = xcalloc(1, sizeof(*c));
	err = call_counts_new(system_wide, no_children, &c->probes);
	if (err) {
		free(c);
		return err;
	}
	c->system_wide = system_wide;
	c->sandbox = sandbox;
	c->python = python_counts_new(c->probes);
	c->specs = xcalloc(nr_specs, sizeof(*c->specs));
	c->nr_specs = nr_specs;
	for (size_t i = 0; i < nr_specs; i++)
		c->specs[i] = parse_spec(specs[i]);
	for (size_t i = 0; i < nr_specs; i++)
		if (c->specs[i].module && strchr(c->specs[i].module, '/'))
			take_path(c, c->specs[i].module);
	if (program)
		needed_files(program, take_path, c);
	if (system_wide)
		look_at_all(c);
	*ret_calls = c;
	return 0;
}

void record_calls_free(struct record_calls *c)
{
	if (!c)
		return;
	python_counts_free(c->python);
	call_counts_free(c->probes);
	for (size_t i = 0; i < c->nr_specs; i++)
		free(c->specs[i].module);
	for (size_t i = 0; i < c->nr_functions; i++) {
		free(c->functions[i].name);
		free(c->functions[i].path);
	}
	free(c->specs);
	free(c->functions);
	free(c->seen);
	free(c);
}

int record_calls_add_child(struct record_calls *c, pid_t pid)
{
	int err = c ? call_counts_add_process(c->probes, pid) : 0;

	if (err)
		log_error(-err, "count calls of process %d", (int)pid);
	return err;
}

int record_calls_add_process(struct record_calls *c, pid_t id)
{
	struct proc_status status;
	int err;

	/* The source reports a process that has ended. */
	if (!c || proc_status_read(id, &status))
		return 0;
	err = record_calls_add_child(c, status.process);
	if (!err)
		look_at_process(c, status.process);
	return err;
}

/* Files that a program maps later get probes too, which only CAP_SYS_ADMIN may set. */
uint64_t record_calls_privileges(const struct record_calls *c)
{
	return c ? PRIVILEGE(CAP_SYS_ADMIN) | PRIVILEGE(CAP_BPF) | PRIVILEGE(CAP_PERFMON) : 0;
}

void record_calls_start(struct record_calls *c, uint64_t begin_ns, uint64_t end_ns)
{
	if (!c)
		return;
	c->begin_ns = begin_ns;
	call_counts_start(c->probes, begin_ns, end_ns);
}

void record_calls_follow(struct record_calls *c, struct sink *sink)
{
	uint64_t now = monotonic_ns(), nr_execs;
	pid_t pid = 0;

	if (!c)
		return;
	python_counts_read(c->python, sink);
	nr_execs = call_counts_nr_execs(c->probes);
	if (now < c->next_look_ns && nr_execs == c->nr_execs)
		return;
	c->nr_execs = nr_execs;
	if (c->system_wide)
		look_at_all(c);
	while (!c->system_wide && (pid = call_counts_next_process(c->probes, pid)))
		look_at_process(c, pid);
	c->next_look_ns = now + LOOK_NS + LOOK_SHARE * (monotonic_ns() - now);
}

static uint64_t string(struct sink *sink, const char *s)
{
	return sink->string(sink, s, strlen(s));
}

static void write_native(struct record_calls *c, struct sink *sink)
{
	for (size_t i = 0; i < c->nr_functions; i++) {
		const struct counted *f = &c->functions[i];
		const struct fact_calls row = {
			.kind = FUNCTION_NATIVE,
			.name = string(sink, f->name),
			.module = string(sink, f->path),
			.file = string(sink, ""),
			/* each of several functions of the same name in a file has a row */
			.line = i,
			.calls = call_counts_count(c->probes, f->probe),
			.late_ns = f->late_ns,
		};

		sink->fact(sink, FACT_CALLS, &row);
	}
}

void record_calls_stop(struct record_calls *c, struct sink *sink)
{
	if (!c)
		return;
	record_calls_follow(c, sink);
	call_counts_start(c->probes, 0, 0);
	write_native(c, sink);
	python_counts_write(c->python, sink);
	for (size_t i = 0; i < c->nr_specs; i++) {
		if (c->specs[i].nr_refused)
			log_warning("calls of %zu functions that match '%s' are not counted: no "
				    "probe can be put there (-v says which)",
				    c->specs[i].nr_refused, c->specs[i].text);
		if (!c->specs[i].found && c->specs[i].event >= 0)
			log_warning("calls of '%s' are not counted: no process has mapped an "
				    "interpreter",
				    c->specs[i].text);
		else if (!c->specs[i].found)
			log_warning("calls of '%s' are not counted: no file that was mapped has a "
				    "function of that name (it may be inlined, or the file "
				    "stripped)",
				    c->specs[i].text);
	}
}
