/*
 * Connects the calls that the user asked for with the files that have them. A file is searched
 * once, when it is first seen mapped. In files that are mapped before counting begins every call is
 * counted; in files mapped later, the calls until sprof saw the file are missing, and the row of
 * the function says so.
 */
#include "cli/calls/counting.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/calls/call_specs.h"
#include "cli/calls/collective_ops.h"
#include "cli/calls/function_searches.h"
#include "cli/calls/mapped_files.h"
#include "cli/calls/needed_files.h"
#include "cli/calls/python_counts.h"
#include "cli/options/stop_signals.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/rights/privileges.h"
#include "core/rights/safe_open.h"
#include "core/profile/source.h"
#include "core/sandbox/sandbox.h"
#include "sampler/call_counts.h"
#include "sampler/target/open_mapped.h"
#include "sampler/target/proc_maps.h"
#include "core/base/proc_status.h"
#include "symbolizer/confined_functions.h"

#define LOOK_NS (100ull * 1000 * 1000)
#define EXEC_SHARE 2 /* looking after an exec takes at most a third of the time */
#define SEARCH_MS 20 /* to wait for searches in a round; longer ones go on meanwhile */
#define AWAIT_NS (5ull * 1000 * 1000 * 1000)
#define STOP_MS 300
#define WARNINGS_MAX 20
#define LOOK_SHARE 50 /* looking for files takes at most a 50th of the time */

/* A native function that has a probe. */
struct counted {
	uint32_t probe;
	char *name, *path;
	uint64_t late_ns; /* from the beginning to its probe: calls in that time are missing */
};

struct record_calls {
	struct call_counts *probes;
	bool system_wide;
	struct call_spec *specs;
	size_t nr_specs;
	struct counted *functions;
	size_t nr_functions, functions_capacity;
	struct function_searches *searches;
	struct mapped_files *files;
	bool some_left_out; /* left for a later look: too many files wait for a search */
	uint64_t nr_unread; /* files that no child could read */
	uint64_t nr_share_warnings;
	uint64_t begin_ns; /* 0: counting has not begun */
	uint64_t next_look_ns, next_exec_look_ns, nr_execs;
	struct python_counts *python;
	struct collective_ops *collectives;
};

static uint64_t late_ns(const struct record_calls *c)
{
	uint64_t now = monotonic_ns();

	return c->begin_ns && now > c->begin_ns ? now - c->begin_ns : 0;
}

/* Reports, once for a spec, why it is not counted. */
static void refuse(struct call_spec *s, const char *why)
{
	if (!s->refused)
		log_warning("calls of '%s' are not counted%s", s->text, why);
	s->refused = true;
}

static void keep_function(struct record_calls *c, struct call_spec *spec, const char *path,
			  int probe, struct named_function *f)
{
	if (probe == -EDQUOT)
		return; /* reported for all functions of the file together */
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

static void say_share(struct record_calls *c, const struct searched_file *file, const int *probes,
		      size_t nr)
{
	size_t nr_refused = 0;

	for (size_t i = 0; i < nr; i++)
		nr_refused += probes[i] == -EDQUOT;
	if (nr_refused && c->nr_share_warnings++ < WARNINGS_MAX)
		log_warning("calls of %zu functions in '%s' are not counted: there are no more "
			    "probes for user %u (one user may have half of them, all but you "
			    "three quarters)",
			    nr_refused, file->path, file->user);
}

static void attach_functions(struct record_calls *c, const struct searched_file *file,
			     struct named_function *functions, size_t nr)
{
	struct call_spec **of = file->of; /* the spec of each glob, by the glob's number */
	uint64_t *offsets = xcalloc(nr + 1, sizeof(*offsets));
	int *probes = xcalloc(nr + 1, sizeof(*probes));
	size_t kept = 0;

	for (size_t i = 0; i < nr; i++) {
		of[functions[i].glob]->found = true;
		if (of[functions[i].glob]->is_collectives)
			of[functions[i].glob]->nr_refused +=
				!collective_ops_add(c->collectives, file, &functions[i]);
		else if (!functions[i].is_resolver)
			offsets[kept++] = functions[i].offset;
		else if (!strpbrk(of[functions[i].glob]->function, "*?["))
			refuse(of[functions[i].glob],
			       ": it is chosen when the program is linked (IFUNC), name what it "
			       "becomes: sprof report shows that");
	}
	call_counts_attach(c->probes, file->fd,
			   file->user == SEARCH_FOR_CALLER ? CALL_COUNTS_CALLER : file->user,
			   offsets, kept, probes);
	say_share(c, file, probes, kept);
	kept = 0;
	for (size_t i = 0; i < nr; i++)
		if (!functions[i].is_resolver && !of[functions[i].glob]->is_collectives)
			keep_function(c, of[functions[i].glob], file->path, probes[kept++],
				      &functions[i]);
	free(probes);
	free(offsets);
}

static void attach_python(struct record_calls *c, struct call_spec *spec, int fd)
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

/* Takes what was found in a file. */
static void take_functions(void *context, const struct searched_file *file, int err,
			   struct named_function *functions, size_t nr)
{
	struct record_calls *c = context;

	if (!err) {
		attach_functions(c, file, functions, nr);
		return;
	}
	if (err != -ECHILD && err != -ETIMEDOUT && err != -EBADMSG)
		return; /* no ELF file */
	if (c->nr_unread++ < WARNINGS_MAX)
		log_warning("calls of functions in '%s' are not counted: %s", file->path,
			    sandbox_failure(err));
}

/* Has a file searched. Owns fd. `path` is as process pid sees it, or we do (0). */
static void look_into(struct record_calls *c, int fd, pid_t pid, uint32_t user, const char *path,
		      const struct stat *file)
{
	const size_t most = c->nr_specs * NR_COLLECTIVE_OPS;
	const char **globs = xcalloc(most, sizeof(*globs));
	struct call_spec **of = xcalloc(most, sizeof(*of));
	size_t nr_globs = 0;

	for (size_t i = 0; i < c->nr_specs; i++) {
		struct call_spec *s = &c->specs[i];

		if (!call_spec_fits(s, path, file))
			continue;
		for (size_t k = 0; s->is_collectives && k < NR_COLLECTIVE_OPS; k++) {
			of[nr_globs] = s;
			globs[nr_globs++] = collective_ops_names[k];
		}
		if (s->event >= 0) {
			attach_python(c, s, fd);
		} else if (!s->is_collectives) {
			of[nr_globs] = s;
			globs[nr_globs++] = s->function;
		}
	}
	if (nr_globs) {
		function_searches_add(c->searches, &(struct searched_file){
							   .fd = fd,
							   .pid = pid,
							   .user = user,
							   .path = xstrdup(path),
							   .globs = globs,
							   .nr_globs = nr_globs,
							   .of = of,
						   });
		return;
	}
	free(of);
	free(globs);
	close(fd);
}

/* Has a file searched unless it was already. Owns fd, which may be negative. */
static void take_file(struct record_calls *c, int fd, pid_t pid, uint32_t user, const char *path)
{
	struct stat file;

	if (fd < 0)
		return;
	if (!fstat(fd, &file) && mapped_files_add(c->files, file.st_dev, file.st_ino))
		look_into(c, fd, pid, user, path, &file);
	else
		close(fd);
}

/* Takes a file that the caller named, or one that the named program needs. */
static void take_path(void *context, const char *path)
{
	enum rights before = privileges_use(RIGHTS_OF_CALLER);
	int fd = safe_open(path, SAFE_OPEN_ELF_MAX);
	char real[PATH_MAX];

	if (realpath(path, real))
		path = real;
	privileges_use(RIGHTS_BORROWED);
	take_file(context, fd, 0, SEARCH_FOR_CALLER, path);
	privileges_use(before);
}

static bool has_room(void *context, uint32_t user)
{
	struct record_calls *c = context;
	bool room = function_searches_have_room(c->searches, user);

	c->some_left_out |= !room;
	return room;
}

static void take_mapped(void *context, const struct file_mapping *m, uint32_t user)
{
	take_file(context, open_mapped(m), m->pid, user, m->path);
}

static void look_at_process(struct record_calls *c, pid_t pid)
{
	mapped_files_look(c->files, pid, &(struct mapped_files_hooks){ has_room, take_mapped, c });
}

static void look_at_all(struct record_calls *c)
{
	mapped_files_look_at_all(c->files,
				 &(struct mapped_files_hooks){ has_room, take_mapped, c });
}

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
	c->searches = function_searches_new(sandbox);
	c->files = mapped_files_new();
	c->python = python_counts_new(c->probes);
	c->collectives = collective_ops_new(c->probes);
	c->specs = xcalloc(nr_specs, sizeof(*c->specs));
	c->nr_specs = nr_specs;
	for (size_t i = 0; i < nr_specs; i++)
		c->specs[i] = call_spec_parse(specs[i]);
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
	function_searches_free(c->searches);
	mapped_files_free(c->files);
	python_counts_free(c->python);
	collective_ops_free(c->collectives);
	call_counts_free(c->probes);
	for (size_t i = 0; i < c->nr_specs; i++)
		free(c->specs[i].module);
	for (size_t i = 0; i < c->nr_functions; i++) {
		free(c->functions[i].name);
		free(c->functions[i].path);
	}
	free(c->specs);
	free(c->functions);
	free(c);
}

static int count_in(struct record_calls *c, pid_t pid, bool from_exec)
{
	int err = call_counts_add_process(c->probes, pid, from_exec);

	if (err)
		log_error(-err, "count calls of process %d", (int)pid);
	return err;
}

int record_calls_add_child(struct record_calls *c, pid_t pid)
{
	return c ? count_in(c, pid, true) : 0;
}

int record_calls_add_process(struct record_calls *c, pid_t id)
{
	struct proc_status status;
	int err;

	/* If the process has ended, the source reports that. */
	if (!c || proc_status_read(id, &status))
		return 0;
	err = count_in(c, status.process, false);
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

static void look_at_followed(struct record_calls *c)
{
	pid_t pid = 0;

	c->some_left_out = false;
	if (c->system_wide)
		look_at_all(c);
	while (!c->system_wide && (pid = call_counts_next_process(c->probes, pid)))
		look_at_process(c, pid);
}

void record_calls_await(struct record_calls *c)
{
	uint64_t end = monotonic_ns() + AWAIT_NS;

	while (c && !stop_signals_caught() &&
	       (function_searches_left_for_caller(c->searches) ||
		(monotonic_ns() < end &&
		 (c->some_left_out || function_searches_left(c->searches))))) {
		function_searches_go_on(c->searches, SEARCH_MS, take_functions, c);
		if (c->some_left_out)
			look_at_followed(c);
		if (function_searches_left(c->searches))
			usleep(1000);
	}
}

void record_calls_follow(struct record_calls *c, struct sink *sink)
{
	uint64_t now = monotonic_ns(), nr_execs, took, began;

	if (!c)
		return;
	python_counts_read(c->python, sink);
	collective_ops_read(c->collectives, sink);
	nr_execs = call_counts_nr_execs(c->probes);
	if (now >= c->next_look_ns || (nr_execs != c->nr_execs && now >= c->next_exec_look_ns)) {
		c->nr_execs = nr_execs;
		began = thread_cpu_ns(); /* CPU time: waiting for a CPU is no cost */
		look_at_followed(c);
		took = thread_cpu_ns() - began;
		c->next_look_ns = now + LOOK_NS + LOOK_SHARE * took;
		c->next_exec_look_ns = now + took + EXEC_SHARE * took;
	}
	function_searches_go_on(c->searches, SEARCH_MS, take_functions, c);
}

static void write_native(struct record_calls *c, struct sink *sink)
{
	for (size_t i = 0; i < c->nr_functions; i++) {
		const struct counted *f = &c->functions[i];
		const struct fact_calls row = {
			.kind = FUNCTION_NATIVE,
			.name = sink_cstring(sink, f->name),
			.module = sink_cstring(sink, f->path),
			.file = sink_cstring(sink, ""),
			/* keeps functions of the same name in a file apart */
			.line = i,
			.calls = call_counts_count(c->probes, f->probe),
			.late_ns = f->late_ns,
		};

		sink->fact(sink, FACT_CALLS, &row);
	}
}

static void tell_left_out(const struct record_calls *c)
{
	uint64_t nr_children = call_counts_nr_children_left_out(c->probes);
	size_t nr = function_searches_left(c->searches);

	if (nr_children)
		log_warning("calls in %" PRIu64 " child processes are not counted: too many "
			    "processes are there at a time",
			    nr_children);
	if (c->nr_unread > WARNINGS_MAX)
		log_warning("calls of functions in %" PRIu64 " files are not counted: the "
			    "processes that read them did not finish",
			    c->nr_unread);
	if (nr)
		log_warning("calls of functions in %zu files are not counted: the recording ended "
			    "before they were read",
			    nr);
	if (c->some_left_out)
		log_warning("calls of functions in some files are not counted: users had mapped "
			    "more files than could be read in the time");
}

void record_calls_stop(struct record_calls *c, struct sink *sink)
{
	if (!c)
		return;
	python_counts_read(c->python, sink);
	collective_ops_read(c->collectives, sink);
	call_counts_start(c->probes, 0, 0);
	/* Last answers: what was found decides what is reported below. */
	function_searches_go_on(c->searches, STOP_MS, take_functions, c);
	write_native(c, sink);
	python_counts_write(c->python, sink);
	collective_ops_tell(c->collectives);
	tell_left_out(c);
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
