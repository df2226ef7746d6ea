/*
 * Names of frames in files with a build-id go to a folder beside the segments
 * (core/segments/names_folder.h), so that each is looked up once. Names of all other frames
 * (kernel, runtime code, files without a build-id) go into the segment.
 *
 * The child must not outlive the recorder, because it inherits the descriptors of the BPF programs,
 * which sample as long as one is open. It ignores signals that end a recorder, which often go to
 * the whole process group; the recorder waits for it. It has readers of its own: for names of
 * runtime code and of files in containers it opens files in /proc, which may never return.
 */
#include "cli/continuous/name_segment.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/rights/memory_shares.h"
#include "core/profile/facts.h"
#include "core/profile/profile.h"
#include "core/profile/source.h"
#include "core/recording/recfile.h"
#include "core/rights/privileges.h"
#include "core/sandbox/sandbox.h"
#include "core/segments/folder.h"
#include "core/segments/names_folder.h"
#include "core/segments/segment_pack.h"
#include "core/segments/segment_sink.h"
#include "core/untrusted/remote_read.h"
#include "sampler/ebpf/source_ebpf.h"
#include "symbolizer/lookup/debuginfod.h"
#include "symbolizer/symbolizer.h"

#define MAX_NAMING_NS (120ull * 1000 * 1000 * 1000)
/* For debug files: a child that is killed while it fetches one leaves a part of it behind. */
#define MAX_FETCHING_NS (MAX_NAMING_NS / 2)
#define NICE 10
#define NAMES_LIMITED 2 /* exit status of a child: some names are missing for lack of memory */

/* What the symbolizer asks about modules of `profile`, answered by the source. */
struct lookup {
	const struct naming_parts *parts;
	const struct profile *profile;
	const uint32_t *modules; /* segment's module, by module of `profile`; NULL: the same */
	bool beside;		 /* leave out files that are named beside the segment */
};

static uint32_t source_module(const struct lookup *l, uint32_t module)
{
	return segment_sink_source_module(l->parts->sink, l->modules ? l->modules[module] : module);
}

static int open_module(void *context, uint32_t module)
{
	const struct lookup *l = context;
	uint32_t id = source_module(l, module);
	enum rights before = privileges_use(RIGHTS_BORROWED);
	int fd = id == PROFILE_NONE ? -ENOENT : l->parts->ops->open_module(l->parts->source, id);

	privileges_use(before);
	return fd;
}

static int open_root(void *context, uint32_t module, size_t *ret_prefix)
{
	const struct lookup *l = context;
	uint32_t id = source_module(l, module);

	return id == PROFILE_NONE ? -ENOENT
				  : l->parts->ops->open_root(l->parts->source, id, ret_prefix);
}

static int kernel_symbol(void *context, uint64_t address, char *name, size_t size)
{
	const struct lookup *l = context;

	return source_ebpf_kernel_symbol(l->parts->source, address, name, size);
}

static bool skip_module(void *context, uint32_t module)
{
	const struct lookup *l = context;

	return l->beside && names_folder_has(&l->profile->modules[module]);
}

/* Names the frames of `p`. Returns how many files were left out for lack of memory. */
static uint64_t look_up(struct lookup *l, struct profile *p)
{
	const struct symbolizer_opts opts = {
		.debuginfod = l->parts->debuginfod,
		.sandbox = l->parts->sandbox,
		.open_module = open_module,
		.open_root = open_root,
		.kernel_symbol = l->parts->ops == &source_ebpf ? kernel_symbol : NULL,
		.skip_module = skip_module,
		.with_runs = !l->beside, /* for the addresses of later segments */
		.context = l,
	};
	struct symbolizer_stats stats;

	symbolizer_run(p, &opts, &stats);
	return stats.nr_limited;
}

/*
 * Copies the frames that are named beside the segment to a profile without samples, but not those
 * set in `known` (by frame of `from`; or NULL). Returns modules of `from` by module of `to`.
 */
static uint32_t *copy_frames(const struct profile *from, const bool *known, struct profile *to)
{
	uint32_t *modules = xcalloc(from->nr_modules + 1, sizeof(*modules));

	for (size_t i = 0; i < from->nr_frames; i++) {
		uint32_t id = from->frames[i].module, copy;
		struct profile_module m = from->modules[id];

		if (!names_folder_has(&m) || (known && known[i]))
			continue;
		m.path = profile_cstring(to, profile_str(from, m.path));
		copy = profile_module(to, &m);
		modules[copy] = id;
		profile_frame(to, copy, from->frames[i].address);
	}
	return modules;
}

/* Looks up names that the folder does not have, and adds them. Returns as look_up(). */
static uint64_t name_beside(const struct naming_parts *parts, const struct profile *segment)
{
	struct profile *all = profile_new(), *new = profile_new();
	uint32_t *of_all = copy_frames(segment, NULL, all), *of_new;
	bool *known = xcalloc(all->nr_frames + 1, sizeof(*known));
	int names = folder_open_names(folder_fd(parts->folder));
	uint64_t nr_limited = 0;

	if (names >= 0) {
		names_folder_read(names, all, known);
		of_new = copy_frames(all, known, new);
		for (size_t i = 0; i < new->nr_modules; i++)
			of_new[i] = of_all[of_new[i]];
		nr_limited = look_up(
			&(struct lookup){ .parts = parts, .profile = new, .modules = of_new }, new);
		names_folder_write(names, new); /* if it fails, readers look them up */
		free(of_new);
		close(names);
	}
	free(known);
	free(of_all);
	profile_free(all);
	profile_free(new);
	return nr_limited;
}

/*
 * What a child still does that runs out of memory while it looks names up: it finishes the segment
 * without them, and the reader of the segment looks them up.
 */
static struct unnamed {
	struct recfile *file;
	const struct profile_stats *stats;
	uint64_t end_ns;
	struct rlimit before;
} unnamed;

static _Noreturn void end_child(int status)
{
	remote_read_end();
	_exit(status);
}

static void finish_unnamed(void)
{
	alloc_set_report(NULL);
	setrlimit(RLIMIT_DATA, &unnamed.before);
	end_child(recfile_finish(unnamed.file, unnamed.stats, unnamed.end_ns) ? 1 : NAMES_LIMITED);
}

/* Lifts the limit of memory after the look-up, as writing the segment must not be cut short. */
static void end_limit(void)
{
	alloc_set_report(NULL);
	if (unnamed.file)
		setrlimit(RLIMIT_DATA, &unnamed.before);
}

/* Limits the memory of the child, which begins with all of the recorder's. */
static void limit_memory(const struct memory_shares *memory, struct sandbox *sandbox,
			 const struct unnamed *of)
{
	struct rlimit r;

	sandbox_set_memory(sandbox, memory->namer);
	unnamed = *of;
	if (getrlimit(RLIMIT_DATA, &unnamed.before)) {
		unnamed.file = NULL;
		return;
	}
	r = unnamed.before;
	r.rlim_cur = memory_data_bytes() + memory->namer;
	if (r.rlim_cur < unnamed.before.rlim_cur)
		setrlimit(RLIMIT_DATA, &r);
	alloc_set_report(finish_unnamed);
}

static uint64_t name_all(const struct naming_parts *parts, struct profile *segment)
{
	struct lookup l = { .parts = parts, .profile = segment, .beside = true };
	uint64_t nr_limited;

	if (parts->debuginfod)
		debuginfod_limit(parts->debuginfod, MAX_FETCHING_NS);
	nr_limited = name_beside(parts, segment);
	return nr_limited + look_up(&l, segment);
}

/* A segment that cannot be made smaller is whole all the same. */
static int finish(const struct naming_parts *parts, struct recfile *file,
		  const struct profile_stats *stats, uint64_t end_ns)
{
	int err;

	recfile_write_symbols(file);
	err = recfile_finish(file, stats, end_ns);
	if (!err)
		segment_pack(folder_fd(parts->folder), parts->name);
	return err;
}

int name_segment(const struct naming_parts *parts, struct recfile *file,
		 const struct profile_stats *stats, uint64_t end_ns)
{
	name_all(parts, recfile_vocabulary(file));
	return finish(parts, file, stats, end_ns);
}

/* The child's whole work; returns its exit status. */
static int name_in_child(const struct naming_parts *parts, const struct unnamed *job)
{
	uint64_t nr_limited = name_all(parts, recfile_vocabulary(job->file));

	end_limit();
	if (finish(parts, job->file, job->stats, job->end_ns))
		return 1;
	return nr_limited ? NAMES_LIMITED : 0;
}

/*
 * Starts the child's readers, with the rights of the recorder's. They share the child's memory, but
 * no longer than it lives: what they wait for, when they open files in /proc, ends with a kill.
 */
static void start_readers(void)
{
	enum rights before = privileges_use(RIGHTS_BORROWED);
	int err;

	remote_read_leave();
	err = remote_read_start();
	privileges_use(before);
	if (err)
		log_error(-err, "start a process that reads others");
}

static void become_child(const struct naming_parts *parts, pid_t recorder)
{
	static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != recorder)
		_exit(1);
	for (size_t i = 0; i < sizeof(ignored) / sizeof(*ignored); i++)
		signal(ignored[i], SIG_IGN);
	setpriority(PRIO_PROCESS, 0, NICE);
	folder_unlock(parts->folder);
	start_readers();
}

bool naming_start(struct naming *n, const struct naming_parts *parts, struct recfile *file,
		  const char *path, const struct profile_stats *stats, uint64_t end_ns)
{
	const struct unnamed job = { file, stats, end_ns, { 0 } };
	pid_t recorder = getpid(), pid;

	if (n->nr == (n->memory ? 1 : MAX_NAMING))
		return false;
	pid = fork();
	if (pid < 0)
		return false;
	if (!pid) {
		become_child(parts, recorder);
		if (n->memory)
			limit_memory(n->memory, parts->sandbox, &job);
		end_child(name_in_child(parts, &job));
	}
	n->of[n->nr].pid = pid;
	n->of[n->nr].path = xstrdup(path);
	n->of[n->nr++].since_ns = monotonic_ns();
	return true;
}

void naming_poll(struct naming *n, uint64_t now_ns)
{
	for (size_t i = n->nr; i-- > 0;) {
		pid_t pid = n->of[i].pid;
		int status = 0;

		if (now_ns - n->of[i].since_ns > MAX_NAMING_NS)
			kill(pid, SIGKILL);
		if (waitpid(pid, &status, WNOHANG) == 0)
			continue;
		n->nr_limited += WIFEXITED(status) && WEXITSTATUS(status) == NAMES_LIMITED;
		n->on_finished(n->context, n->of[i].path);
		free(n->of[i].path);
		n->of[i] = n->of[--n->nr];
	}
}

void naming_wait(struct naming *n, uint64_t until_ns)
{
	const struct timespec pause = { .tv_nsec = 5000000 };

	for (naming_poll(n, monotonic_ns()); n->nr; naming_poll(n, monotonic_ns())) {
		if (monotonic_ns() > until_ns)
			for (size_t i = 0; i < n->nr; i++)
				kill(n->of[i].pid, SIGKILL);
		nanosleep(&pause, NULL);
	}
}

void naming_tell(struct naming *n, struct sink *sink)
{
	static const char text[] =
		"looking up names of a segment takes more memory than --max-memory "
		"leaves: some come from symbol tables alone, or are missing";
	struct fact_limit row = { .limit = LIMIT_OWN_NAMES, .count = n->nr_limited };

	if (n->nr_limited == n->nr_told)
		return;
	if (!n->nr_told)
		log_warning("%s (said once)", text);
	n->nr_told = n->nr_limited;
	row.text = sink_cstring(sink, text);
	sink->fact(sink, FACT_LIMIT, &row);
}
