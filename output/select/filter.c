/*
 * Applies rules on samples, then rules on functions. The latter are matched once per function and
 * give it a bit for each rule that matches; the bits of its functions decide what happens to a
 * stack.
 */
#include "output/select/filter.h"

#include <ctype.h>
#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/profile/labels.h"
#include "core/profile/profile.h"
#include "output/select/gil.h"
#include "output/select/live_choice.h"
#include "output/select/moment_of_profile.h"
#include "output/tree/naming.h"
#include "output/select/noise.h"
#include "output/select/pattern.h"
#include "output/select/restack.h"

enum {
	MAX_RULES = 64, /* on functions, as bits of a mask; also on thread ids and on names */
	MAX_LABELS = 32,
};

struct rule {
	enum filter_rule rule;
	struct pattern pattern;
};

struct comm {
	bool by_number;
	uint32_t tid;
	regex_t regex;
};

struct filter {
	struct rule rules[MAX_RULES];
	int nr_rules;
	struct comm threads[MAX_RULES], comms[MAX_RULES];
	int nr_threads, nr_comms;
	uint32_t *pids;
	size_t nr_pids, pids_capacity;
	struct moment from, to;
	char *host; /* NULL: any */
	bool hides_noise, holds_gil;
	char *event; /* NULL: the event with the most samples */
	char *labels[MAX_LABELS];
	size_t nr_labels;
	struct live_choice live; /* LIVE_AT_END: as recorded */
};

struct filter *filter_new(void)
{
	return xcalloc(1, sizeof(struct filter));
}

static void free_comms(struct comm *comms, int nr)
{
	for (int i = 0; i < nr; i++)
		if (!comms[i].by_number)
			regfree(&comms[i].regex);
}

void filter_free(struct filter *f)
{
	if (!f)
		return;
	for (int i = 0; i < f->nr_rules; i++)
		pattern_fini(&f->rules[i].pattern);
	free_comms(f->threads, f->nr_threads);
	free_comms(f->comms, f->nr_comms);
	free(f->pids);
	free(f->host);
	free(f->event);
	for (size_t i = 0; i < f->nr_labels; i++)
		free(f->labels[i]);
	free(f);
}

static int too_many(char *why, size_t why_size)
{
	snprintf(why, why_size, "more than %d of them", MAX_RULES);
	return -E2BIG;
}

int filter_add_rule(struct filter *f, enum filter_rule rule, const char *text, char *why,
		    size_t why_size)
{
	struct rule *r = &f->rules[f->nr_rules];
	int err;

	if (f->nr_rules == MAX_RULES)
		return too_many(why, why_size);
	r->rule = rule;
	err = pattern_init(&r->pattern, text, why, why_size);
	f->nr_rules += !err;
	return err;
}

void filter_set_event(struct filter *f, const char *event)
{
	free(f->event);
	f->event = xstrdup(event);
}

const char *filter_event(const struct filter *f)
{
	return f->event;
}

int filter_add_label(struct filter *f, const char *label)
{
	if (!strchr(label, '='))
		return -EINVAL;
	if (f->nr_labels == MAX_LABELS)
		return -E2BIG;
	f->labels[f->nr_labels++] = xstrdup(label);
	return 0;
}

void filter_hide_noise(struct filter *f)
{
	f->hides_noise = true;
}

void filter_hold_gil(struct filter *f)
{
	f->holds_gil = true;
}

static int add_comm(struct comm *comms, int *nr, const char *text, char *why, size_t why_size)
{
	int err;

	if (*nr == MAX_RULES)
		return too_many(why, why_size);
	comms[*nr] = (struct comm){ 0 };
	err = pattern_compile(&comms[*nr].regex, text, why, why_size);
	*nr += !err;
	return err;
}

int filter_add_thread(struct filter *f, const char *text, char *why, size_t why_size)
{
	unsigned long tid;
	char *end;

	errno = 0;
	tid = strtoul(text, &end, 10);
	if (!isdigit((unsigned char)*text) || *end || errno || tid > UINT32_MAX)
		return add_comm(f->threads, &f->nr_threads, text, why, why_size);
	if (f->nr_threads == MAX_RULES)
		return too_many(why, why_size);
	f->threads[f->nr_threads++] = (struct comm){ .by_number = true, .tid = (uint32_t)tid };
	return 0;
}

int filter_add_comm(struct filter *f, const char *text, char *why, size_t why_size)
{
	return add_comm(f->comms, &f->nr_comms, text, why, why_size);
}

void filter_add_pid(struct filter *f, uint32_t pid)
{
	f->pids = xgrow(f->pids, &f->pids_capacity, f->nr_pids + 1, sizeof(*f->pids));
	f->pids[f->nr_pids++] = pid;
}

void filter_set_from(struct filter *f, struct moment from)
{
	f->from = from;
}

void filter_set_to(struct filter *f, struct moment to)
{
	f->to = to;
}

struct moment filter_from(const struct filter *f)
{
	return f->from;
}

struct moment filter_to(const struct filter *f)
{
	return f->to;
}

void filter_set_host(struct filter *f, const char *host)
{
	free(f->host);
	f->host = xstrdup(host);
}

const char *filter_host(const struct filter *f)
{
	return f->host;
}

void filter_set_live(struct filter *f, const struct live_choice *choice)
{
	f->live = *choice;
}

bool filter_has_live(const struct filter *f)
{
	return f->live.kind != LIVE_AT_END;
}

bool filter_has_no_time(const struct filter *f)
{
	bool is_start = f->from.kind == MOMENT_NOT_SET && f->to.kind == MOMENT_AFTER_START;

	if (f->to.kind == MOMENT_NOT_SET || f->to.kind == MOMENT_OF_MARK ||
	    (f->from.kind != f->to.kind && !is_start))
		return false;
	return f->to.kind == MOMENT_BEFORE_END ? f->from.ns <= f->to.ns : f->from.ns >= f->to.ns;
}

bool filter_chooses_recordings(const struct filter *f)
{
	return !f->nr_rules && !f->nr_threads && !f->nr_comms && !f->nr_pids && !f->nr_labels &&
	       !f->hides_noise && !f->holds_gil && !f->event && !filter_has_live(f);
}

static bool fits(const struct comm *comms, int nr, const struct profile *p,
		 const struct profile_thread *t)
{
	for (int i = 0; i < nr; i++) {
		if (comms[i].by_number
			    ? comms[i].tid == t->tid
			    : !regexec(&comms[i].regex, profile_str(p, t->comm), 0, NULL, 0))
			return true;
	}
	return !nr;
}

static bool fits_pids(const struct filter *f, uint32_t pid)
{
	for (size_t i = 0; i < f->nr_pids; i++)
		if (f->pids[i] == pid)
			return true;
	return !f->nr_pids;
}

static bool has_thread_rules(const struct filter *f)
{
	return f->nr_threads || f->nr_comms || f->nr_pids;
}

static bool has_time_rules(const struct filter *f)
{
	return f->from.kind != MOMENT_NOT_SET || f->to.kind != MOMENT_NOT_SET;
}

struct samples {
	const struct filter *filter;
	const struct profile *p;
	bool *keep_thread; /* by thread; NULL: keep all, also samples without a thread */
	bool by_time;
	uint64_t from_ns, to_ns; /* as times of samples */
};

static bool keep_sample(void *context, const struct profile_sample *sample)
{
	const struct samples *s = context;

	if (s->keep_thread && (sample->thread == PROFILE_NONE || !s->keep_thread[sample->thread]))
		return false;
	if (s->filter->holds_gil && sample->gil != GIL_HELD)
		return false;
	for (size_t i = 0; i < s->filter->nr_labels; i++)
		if (!labels_has(s->p, sample, s->filter->labels[i]))
			return false;
	return !s->by_time ||
	       (sample->time_ns && sample->time_ns >= s->from_ns && sample->time_ns < s->to_ns);
}

/* Samples a little older than the recording are kept without a rule, and from 0 on. */
static void set_times(struct samples *s)
{
	const struct filter *f = s->filter;
	bool from_start = f->from.kind == MOMENT_AFTER_START && !f->from.ns;

	s->by_time = has_time_rules(f) && !s->p->meta.is_cut;
	if (f->from.kind != MOMENT_NOT_SET && !from_start)
		s->from_ns = moment_of_samples(s->p, &f->from);
	s->to_ns = f->to.kind != MOMENT_NOT_SET ? moment_of_samples(s->p, &f->to) : UINT64_MAX;
}

static void filter_samples(const struct filter *f, struct profile *p)
{
	struct samples s = { .filter = f, .p = p };

	if (!has_thread_rules(f) && !has_time_rules(f) && !f->holds_gil && !f->nr_labels)
		return;
	if (has_thread_rules(f)) {
		s.keep_thread = xcalloc(p->nr_threads + 1, sizeof(*s.keep_thread));
		for (size_t i = 0; i < p->nr_threads; i++) {
			const struct profile_thread *t = &p->threads[i];

			s.keep_thread[i] = fits(f->threads, f->nr_threads, p, t) &&
					   fits(f->comms, f->nr_comms, p, t) &&
					   fits_pids(f, t->pid);
		}
	}
	set_times(&s);
	restack_samples(p, keep_sample, &s);
	free(s.keep_thread);
}

struct stacks {
	uint64_t *masks;		   /* by function: bits of the rules that match it */
	uint64_t of[FILTER_SHOW_FROM + 1]; /* by enum filter_rule: bits of its rules */
	bool *noise, *marker;		   /* by function: is it hidden, is it a marker? */
};

static bool filter_stack(void *context, struct stack_part *parts, size_t *nr)
{
	const struct stacks *s = context;
	uint64_t found = 0;
	size_t kept = 0, i = 0;

	for (size_t j = 0; j < *nr; j++)
		found |= s->masks[parts[j].function];
	if ((found & s->of[FILTER_FOCUS]) != s->of[FILTER_FOCUS] || found & s->of[FILTER_IGNORE])
		return false;
	if (s->of[FILTER_SHOW_FROM]) {
		while (i < *nr && !(s->masks[parts[i].function] & s->of[FILTER_SHOW_FROM])) {
			/* Markers stay, or an incomplete stack would count as complete. */
			if (s->marker[parts[i].function] &&
			    !(s->masks[parts[i].function] & s->of[FILTER_HIDE]))
				parts[kept++] = parts[i];
			i++;
		}
		if (i == *nr)
			return false;
	}
	for (; i < *nr; i++)
		if (!s->noise[parts[i].function] &&
		    !(s->masks[parts[i].function] & s->of[FILTER_HIDE]))
			parts[kept++] = parts[i];
	*nr = kept;
	return true;
}

static void filter_stacks(const struct filter *f, struct profile *p)
{
	struct tree_functions names;
	struct stacks s = { 0 };

	if (!f->nr_rules && !f->hides_noise)
		return;
	naming_init(&names, p);
	s.masks = xcalloc(names.nr, sizeof(*s.masks));
	s.noise = xcalloc(names.nr, sizeof(*s.noise));
	s.marker = xcalloc(names.nr, sizeof(*s.marker));
	for (size_t i = 0; i < names.nr; i++)
		s.marker[i] = names.list[i].kind == FUNCTION_MARKER;
	for (size_t i = 0; f->hides_noise && i < names.nr; i++)
		s.noise[i] = noise_is(&names.list[i]);
	for (int r = 0; r < f->nr_rules; r++) {
		const struct rule *rule = &f->rules[r];

		s.of[rule->rule] |= UINT64_C(1) << r;
		for (size_t i = 0; i < names.nr; i++)
			if (pattern_fits(&rule->pattern, &names.list[i]))
				s.masks[i] |= UINT64_C(1) << r;
	}
	restack(p, &names, filter_stack, &s);
	free(s.masks);
	free(s.noise);
	free(s.marker);
	tree_functions_fini(&names);
}

static bool has_times(const struct profile *p)
{
	for (size_t i = 0; i < p->nr_samples; i++)
		if (p->samples[i].time_ns)
			return true;
	return !p->nr_samples;
}

static bool has_threads(const struct profile *p)
{
	for (size_t i = 0; i < p->nr_samples; i++)
		if (p->samples[i].thread != PROFILE_NONE)
			return true;
	return !p->nr_samples;
}

/* labels_has() takes the ids and the name of a thread as labels, too. */
static bool has_labels(const struct profile *p)
{
	for (size_t i = 0; i < p->nr_samples; i++)
		if (p->samples[i].labels)
			return true;
	return has_threads(p);
}

int filter_apply(const struct filter *f, struct profile *p, const char **ret_lacks)
{
	if (has_time_rules(f) && !has_times(p)) {
		*ret_lacks = "times";
		return -ENODATA;
	}
	if (!moment_is_in(p, &f->from) || !moment_is_in(p, &f->to)) {
		*ret_lacks = "times of day";
		return -ENODATA;
	}
	if (has_thread_rules(f) && !has_threads(p)) {
		*ret_lacks = "threads";
		return -ENODATA;
	}
	if (f->nr_labels && !has_labels(p)) {
		*ret_lacks = "labels";
		return -ENODATA;
	}
	if (f->holds_gil && p->nr_samples && !gil_is_known(p)) {
		*ret_lacks = "samples that say who holds the GIL";
		return -ENODATA;
	}
	if (filter_has_live(f) && live_apply(&f->live, p, ret_lacks))
		return -ENODATA;
	filter_samples(f, p);
	return 0;
}

void filter_apply_to_stacks(const struct filter *f, struct profile *p)
{
	filter_stacks(f, p);
}
