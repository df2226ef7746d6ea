/*
 * Asks each source whether it works here, and whether it suits the targets, and takes the first
 * that does both. If no source does both, one that leaves something out is better than one that
 * refuses a target; if all refuse, the first of them is opened, as it explains its refusal best.
 * With "auto", the reasons of the sources that were passed over are collected for one message.
 */
#include "cli/record/choose_source.h"

#include <stdbool.h>
#include <string.h>

#include "core/base/buffer.h"
#include "core/base/log.h"
#include "cli/record/record_opts.h"
#include "core/profile/source.h"
#include "core/rights/privileges.h"
#include "sampler/runtime.h"

/* Reports why the source (with "auto": each one) does not work, and what fixes it. */
static void report_unusable(const char *name)
{
	bool any = !strcmp(name, "auto");
	char why[256], hint[256];

	for (size_t i = 0; source_table[i]; i++) {
		const struct source_ops *ops = source_table[i];

		if ((!any && strcmp(name, ops->name)) ||
		    ops->probe(why, sizeof(why), hint, sizeof(hint)))
			continue;
		log_error(0, "sample with %s: %s", ops->name, why);
		if (hint[0])
			log_hint("%s", hint);
	}
}

struct source_config record_source_config(const struct record_opts *o)
{
	return (struct source_config){
		.pids = o->pids,
		.nr_pids = o->nr_pids,
		.some_may_fail = o->nr_names > 0,
		.no_children = o->no_children,
		.system_wide = o->system_wide,
		.program = o->program ? o->program[0] : NULL,
		.event = o->event,
		.events = o->events.nr || o->events.growth ? &o->events : NULL,
		.no_python = o->no_python,
		.clock = o->clock,
		.latency = o->latency,
		.wakers = o->wakers,
		.wait_period_ns = o->wait_period_ns,
		.sources = source_table,
		.syscalls = o->syscalls,
		.syscalls_ns = o->syscalls_ns,
	};
}

/* The targets as fit() sees them; the process that runs Python, 0: none, or the program. */
struct prospect {
	struct source_config config;
	pid_t python_pid;
};

static void examine(const struct record_opts *o, struct prospect *ret)
{
	struct prospect p = { .config = record_source_config(o) };

	if (p.config.program && !o->no_python)
		p.config.runtime = runtime_of_program(p.config.program);
	else if (o->nr_pids && !o->no_python)
		p.config.runtime =
			runtime_of_processes(o->pids, o->nr_pids, !o->no_children, &p.python_pid);
	*ret = p;
}

/* Warns before the recording begins of what will certainly be missing in it. */
static void warn_of_gaps(const struct source_ops *chosen, const struct prospect *p)
{
	char why[256];

	if (p->config.runtime != RUNTIME_PYTHON || !chosen->fit ||
	    chosen->fit(&p->config, why, sizeof(why)) != SOURCE_MISSES)
		return;
	if (p->python_pid)
		log_warning("%s of process %d", why, (int)p->python_pid);
	else
		log_warning("%s of '%s'", why, p->config.program);
}

#define MAX_SOURCES 8

/* The best source so far, and the doubtful ones: those that do not work or do not suit fully. */
struct choice {
	const struct source_ops *chosen;
	enum source_fit fit;
	const struct source_ops *doubtful[MAX_SOURCES];
	char why[MAX_SOURCES][256];
	size_t nr_doubtful;
};

/* Chooses the source if it suits better than the one chosen so far. */
static void consider(struct choice *c, const struct source_ops *ops, const struct prospect *p)
{
	enum source_fit fit = SOURCE_FITS;
	char *why = c->why[c->nr_doubtful], hint[256];
	bool works = ops->probe(why, sizeof(c->why[0]), hint, sizeof(hint));

	if (works && ops->fit)
		fit = ops->fit(&p->config, why, sizeof(c->why[0]));
	if (!works || fit != SOURCE_FITS)
		c->doubtful[c->nr_doubtful++] = ops;
	if (works && (!c->chosen || fit > c->fit)) {
		c->chosen = ops;
		c->fit = fit;
	}
}

static void say_passed_over(const struct choice *c)
{
	struct buffer names = { 0 }, reasons = { 0 };

	for (size_t i = 0; i < c->nr_doubtful; i++) {
		if (c->doubtful[i] == c->chosen)
			continue;
		buffer_printf(&names, "%s%s", names.size ? ", " : "", c->doubtful[i]->name);
		buffer_printf(&reasons, "%s%s", reasons.size ? "; " : "", c->why[i]);
	}
	if (names.size)
		log_info("sampling with %s, not %s: %s (sprof doctor says what fixes it)",
			 c->chosen->name, buffer_cstring(&names), buffer_cstring(&reasons));
	buffer_fini(&names);
	buffer_fini(&reasons);
}

static const struct source_ops *choose_best(const struct prospect *p)
{
	struct choice c = { 0 };

	for (size_t i = 0; source_table[i] && i < MAX_SOURCES && c.fit != SOURCE_FITS; i++)
		consider(&c, source_table[i], p);
	if (c.chosen && c.fit == SOURCE_CANNOT && p->config.events) {
		if (p->config.events->nr)
			log_error(
				0,
				"sample '%s': only the source ebpf samples events beside the clock",
				p->config.events->list[0].name);
		else
			log_error(0, "sample growth of memory: only the source ebpf sees it");
		report_unusable("ebpf");
		return NULL;
	}
	if (c.chosen)
		say_passed_over(&c);
	else
		report_unusable("auto");
	return c.chosen;
}

static const struct source_ops *find_usable(const char *name)
{
	char why[256], hint[256];

	for (size_t i = 0; source_table[i]; i++)
		if (!strcmp(name, source_table[i]->name) &&
		    source_table[i]->probe(why, sizeof(why), hint, sizeof(hint)))
			return source_table[i];
	report_unusable(name);
	return NULL;
}

/* Needs borrowed rights, as recording does, because it examines the targets. */
const struct source_ops *record_source_choose(const struct record_opts *opts,
					      enum source_runtime *ret_runtime)
{
	enum rights before = privileges_use(RIGHTS_BORROWED);
	const struct source_ops *chosen;
	struct prospect p;

	examine(opts, &p);
	chosen = strcmp(opts->source, "auto") ? find_usable(opts->source) : choose_best(&p);
	if (chosen)
		warn_of_gaps(chosen, &p);
	privileges_use(before);
	*ret_runtime = p.config.runtime;
	return chosen;
}
