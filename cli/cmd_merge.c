/*
 * sprof merge: makes one profile of several, recorded on several hosts, by several ranks or in
 * several runs. The profiles are copied into one in memory; its samples are put in order of time
 * and written.
 */
#include "cli/commands.h"

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options/export_format.h"
#include "cli/input/load.h"
#include "cli/input/view.h"
#include "cli/options/parse_args.h"
#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/base/number_map.h"
#include "core/base/order.h"
#include "core/profile/facts.h"
#include "core/base/log.h"
#include "core/profile/hosts.h"
#include "core/profile/profile.h"
#include "core/profile/copy.h"
#include "core/profile/source.h"
#include "core/profile/process_rows.h"
#include "core/recording/profile_save.h"
#include "output/export/exporter.h"
#include "output/select/dimension.h"

enum { OPTION_ORIGIN = 0x100 };

enum origin { ORIGIN_NONE, ORIGIN_FILE, ORIGIN_HOST, ORIGIN_COMMAND };

#define SAME_CLOCK_NS 1000000000ll /* less than that apart: one boot, and its clock was set */

struct merge_opts {
	char **inputs;
	size_t nr_inputs, capacity;
	const char *output;
	const struct exporter *exporter; /* NULL: a recording */
	enum origin origin;
};

static const struct argp_option options[] = {
	{ "output", 'o', "OUT", 0, "Write here: a recording, or the format that the name ends in",
	  0 },
	{ "format", 'f', "FORMAT", 0,
	  "Write a format of sprof export --help instead of a recording", 0 },
	{ "origin", OPTION_ORIGIN, "file|host|command", OPTION_ARG_OPTIONAL,
	  "Keep apart where stacks came from, by a root frame (default: file)", 0 },
	{ 0 }
};

static enum origin parse_origin(const char *text, struct argp_state *state)
{
	static const char *const names[] = { "file", "host", "command" };

	for (int i = 0; i < 3; i++)
		if (!text || !strcmp(text, names[i]))
			return ORIGIN_FILE + i;
	argp_error(state, "there is no origin '%s', only file, host and command", text);
	return ORIGIN_NONE;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct merge_opts *o = state->input;

	switch (key) {
	case 'o': o->output = arg; return 0;
	case 'f': o->exporter = export_parse_format(arg, state); return 0;
	case OPTION_ORIGIN: o->origin = parse_origin(arg, state); return 0;
	case ARGP_KEY_ARG:
		o->inputs = xgrow(o->inputs, &o->capacity, o->nr_inputs + 1, sizeof(*o->inputs));
		o->inputs[o->nr_inputs++] = arg;
		return 0;
	case ARGP_KEY_END:
		if (!o->nr_inputs)
			argp_error(state, "give the files to merge");
		if (!o->output && !o->exporter)
			argp_error(state, "give an output file: -o OUT");
		if (!o->exporter)
			o->exporter = exporter_guess(o->output);
		return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	options,
	parse,
	"FILE...",
	"Makes one profile of several recordings, of several hosts, ranks or runs, or of other "
	"files that sprof reads.\v"
	"Equal stacks of equal threads are added up. Samples are put in order by the time of "
	"day.\n\n"
	"Examples:\n"
	"  sprof merge rank*.data -o all.data\n"
	"  sprof merge --origin=host a.data b.data -o hosts.data\n"
	"  sprof merge *.pb.gz -f collapsed | sprof flame - -o all.svg\n",
	NULL,
	NULL,
	NULL,
};

/* Keeps what the recordings agree on and lists the values where they differ. */
static void merge_text(struct profile *to, uint32_t *text, const char *s)
{
	enum { MAX_SIZE = 4096 };
	const char *old = profile_str(to, *text);
	char *both;

	if (!*s || !strcmp(old, s) || strlen(old) > MAX_SIZE)
		return;
	both = *old ? xasprintf("%s, %s", old, s) : xstrdup(s);
	if (!*old || !strstr(old, s))
		*text = profile_cstring(to, both);
	free(both);
}

static void merge_stats(struct profile_stats *to, const struct profile_stats *from)
{
	to->nr_samples += from->nr_samples;
	to->nr_lost += from->nr_lost;
	for (int i = 0; i < NR_MARKERS; i++)
		to->nr_incomplete[i] += from->nr_incomplete[i];
	to->nr_snapshots += from->nr_snapshots;
	to->nr_throttled += from->nr_throttled;
	to->nr_rows += from->nr_rows;
	to->nr_limits += from->nr_limits;
}

/*
 * Monotonic clocks of different hosts or boots are unrelated, so times are aligned by the time of
 * day at which recordings began; times of the same boot are kept as they are. Returns what is added
 * to the times of `from`.
 */
static int64_t merge_times(struct profile *to, const struct profile *from, bool first)
{
	struct profile_meta *m = &to->meta;
	const struct profile_meta *f = &from->meta;
	int64_t shift;

	if (first) {
		m->start_realtime_ns = f->start_realtime_ns;
		m->start_ns = f->start_ns;
		m->end_ns = f->end_ns;
		return 0;
	}
	shift = (int64_t)(m->start_ns - f->start_ns);
	if (m->start_realtime_ns && f->start_realtime_ns)
		shift += (int64_t)(f->start_realtime_ns - m->start_realtime_ns);
	if (shift < SAME_CLOCK_NS && shift > -SAME_CLOCK_NS &&
	    !strcmp(profile_str(to, m->hostname), profile_str(from, f->hostname)))
		shift = 0;
	if (f->end_ns + (uint64_t)shift > m->end_ns)
		m->end_ns = f->end_ns + (uint64_t)shift;
	return shift;
}

static void merge_meta(struct profile *to, const struct profile *from, bool first)
{
	struct profile_meta *m = &to->meta;
	const struct profile_meta *f = &from->meta;

	if (first) {
		m->freq_hz = f->freq_hz;
		m->nr_cpus = f->nr_cpus;
	}
	m->freq_hz = m->freq_hz == f->freq_hz ? m->freq_hz : 0;
	m->nr_cpus = m->nr_cpus > f->nr_cpus ? m->nr_cpus : f->nr_cpus;
	merge_text(to, &m->command, profile_str(from, f->command));
	merge_text(to, &m->hostname, profile_str(from, f->hostname));
	merge_text(to, &m->kernel, profile_str(from, f->kernel));
	merge_text(to, &m->source, profile_str(from, f->source));
	merge_text(to, &m->event, profile_str(from, f->event));
	merge_stats(&to->stats, &from->stats);
}

/* What is known of the processes of all profiles so far. */
struct merging {
	struct process_rows *processes;
	struct number_map pids_used; /* the keys */
	uint32_t nr_other_pids;
};

static const char *origin_of(const struct merge_opts *o, const struct profile *p, const char *path)
{
	const char *name = path;

	if (o->origin == ORIGIN_NONE)
		return NULL;
	if (o->origin == ORIGIN_HOST)
		name = profile_str(p, p->meta.hostname);
	if (o->origin == ORIGIN_COMMAND)
		name = profile_str(p, p->meta.command);
	return *name ? name : path;
}

/* Of a folder with several hosts, processes whose number one of another host has get their own. */
static void number_processes_of_hosts(struct merging *m, const struct profile *p,
				      struct number_map *pids)
{
	uint32_t *numbers;
	bool is_new;

	if (!p->has_hosts)
		return;
	numbers = hosts_numbers(p);
	for (size_t i = 0; i < p->nr_threads; i++)
		if (numbers[i] != p->threads[i].pid) {
			uint32_t *pid = number_map_at(pids, hosts_process(&p->threads[i]), &is_new);

			if (!*pid)
				*pid = FIRST_OTHER_PID + m->nr_other_pids++;
		}
	free(numbers);
}

/*
 * Gives a process a new number where an earlier profile has facts of a process with the same one:
 * ranks in containers often share one number.
 */
static void number_processes(struct merging *m, const struct profile *p, struct number_map *pids)
{
	bool is_new;

	for (int kind = 0; kind < NR_FACT_KINDS; kind++) {
		const struct fact_info *info = fact_info((uint64_t)kind);
		const uint64_t *rows;
		size_t nr;

		if (!info || info->fields[0] != FIELD_PID || kind == FACT_PROCESS ||
		    kind == FACT_THREAD_TIME)
			continue;
		rows = facts_rows(p, (enum fact_kind)kind, &nr);
		for (size_t i = 0; i < nr; i++, rows += info->nr_fields) {
			number_map_at(&m->pids_used, (uint32_t)rows[0], &is_new);
			if (is_new && *number_map_at(pids, rows[0], &is_new) == 0)
				*number_map_at(pids, rows[0], &is_new) = (uint32_t)rows[0];
			else if (*number_map_at(pids, rows[0], &is_new) == 0)
				*number_map_at(pids, rows[0], &is_new) =
					FIRST_OTHER_PID + m->nr_other_pids++;
		}
	}
	for (size_t i = 0; i < p->nr_threads; i++)
		number_map_at(&m->pids_used, p->threads[i].pid, &is_new);
}

static void add_processes(const char *path, struct process_rows *processes,
			  const struct profile *from, struct profile *to, struct number_map *pids)
{
	size_t nr = process_rows_add(processes, from, to, pids);

	if (nr)
		log_warning("'%s': %zu of its processes ha%s the number of another process: what "
			    "they belong to is not known",
			    path, nr, nr == 1 ? "s" : "ve");
}

static int add_input(const struct merge_opts *o, struct merging *m, struct profile *to,
		     uint32_t number)
{
	struct number_map pids = { 0 };
	struct profile_copy_opts copy = { .vocabulary = to, .number = number, .pids = &pids };
	const char *path = o->inputs[number];
	struct profile *p;
	uint64_t nr_left_out;
	int err = profile_load(path, NULL, &p);

	if (err)
		return err;
	copy.sink = profile_sink_new(to);
	if (o->origin == ORIGIN_HOST && p->has_hosts)
		dimension_find("host")->draw(p);
	else
		copy.origin = origin_of(o, p, path);
	copy.time_shift_ns = merge_times(to, p, !number);
	merge_meta(to, p, !number);
	number_processes_of_hosts(m, p, &pids);
	number_processes(m, p, &pids);
	nr_left_out = profile_copy(p, &copy);
	if (nr_left_out)
		log_warning("'%s': %" PRIu64 " of its samples are left out: a profile has room for "
			    "%d events",
			    path, nr_left_out, NR_EVENT_COLUMNS);
	add_processes(path, m->processes, p, to, &pids);
	profile_sink_free(copy.sink);
	number_map_fini(&pids);
	profile_free(p);
	return 0;
}

/* Moves all times on if one is from before the first recording began: it would be negative. */
static void keep_times_positive(struct profile *p)
{
	uint64_t first = p->meta.start_ns, shift;

	for (size_t i = 0; i < p->nr_samples; i++)
		if (p->samples[i].time_ns && (int64_t)(p->samples[i].time_ns - first) < 0)
			first = p->samples[i].time_ns;
	shift = p->meta.start_ns - first;
	if (!shift)
		return;
	for (size_t i = 0; i < p->nr_samples; i++)
		if (p->samples[i].time_ns)
			p->samples[i].time_ns += shift;
	facts_shift_times(p, shift);
	p->meta.end_ns += shift;
	p->meta.start_realtime_ns -= p->meta.start_realtime_ns > shift ? shift : 0;
}

static int compare_times(const void *a, const void *b)
{
	const struct profile_sample *x = a, *y = b;

	return ORDER(x->time_ns, y->time_ns);
}

static int write_merged(const struct merge_opts *o, struct profile *p,
			const struct process_rows *processes)
{
	struct buffer b = { 0 };
	struct sink *sink;
	int err;

	if (!o->exporter)
		return profile_save(o->output, p, processes);
	sink = profile_sink_new(p);
	process_rows_write(processes, p, sink);
	profile_sink_free(sink);
	err = o->exporter->write(&b, p);
	if (err)
		export_report_error(o->exporter, err, "what was merged");
	else
		err = view_write(o->output, &b);
	buffer_fini(&b);
	return err;
}

static int merge_main(int argc, char **argv)
{
	struct merge_opts o = { 0 };
	struct merging m = { .processes = process_rows_new() };
	struct profile *p = profile_new();
	int err = 0;

	parse_args(&argp, argc, argv, &o);
	for (uint32_t i = 0; i < o.nr_inputs && !err; i++)
		err = add_input(&o, &m, p, i);
	if (!err) {
		keep_times_positive(p);
		if (p->nr_samples)
			qsort(p->samples, p->nr_samples, sizeof(*p->samples), compare_times);
		err = write_merged(&o, p, m.processes);
	}
	process_rows_free(m.processes);
	number_map_fini(&m.pids_used);
	profile_free(p);
	free(o.inputs);
	return err ? 1 : 0;
}

const struct command cmd_merge = {
	.name = "merge",
	.argp = &argp,
	.help = "make one profile of several: hosts, ranks, runs",
	.main = merge_main,
};
