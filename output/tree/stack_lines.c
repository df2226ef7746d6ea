/*
 * Makes lines in three passes: see which stacks the samples use, name the frames of those, write
 * the lines. With many stacks half of the time is spent waiting for memory, so data is read in
 * place rather than copied, and tables that are read at random are kept small.
 */
#include "output/tree/stack_lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/number_map.h"
#include "core/profile/column.h"
#include "output/tree/tree.h"

enum { GUESS_MAX = 1 << 16, MARK_STACKS = 1024, MAX_LISTED = 8 };

/* The samples of one stack under one thread name. */
struct tree_group {
	uint32_t stack, comm; /* comm: string id, PROFILE_NONE = no thread */
	uint32_t next;	      /* listed group of the same stack + 1; 0 = last */
	struct tree_share share;
};

/*
 * Finds groups. The first MAX_LISTED of a stack are in a list, which is mostly one group and takes
 * little memory. A target can change its name before every sample: all further groups are in a map.
 */
struct group_finder {
	uint32_t *heads;	  /* by stack: the latest group in its list + 1; 0 = no group */
	struct number_map others; /* by stack and thread name: the group */
};

/* The result of the first pass over the samples. */
struct survey {
	struct tree_share total;
	bool *stack_used, *comm_used;
};

/* False if the sample belongs to another column. */
static bool share_of(const struct tree_lines *l, const struct profile_sample *s,
		     struct tree_share *ret)
{
	ret->weight = s->column == l->column ? s->weight : 0;
	ret->events = column_events(l->p, l->column, s);
	return s->column == l->column || ret->events;
}

static uint32_t comm_of(const struct profile *p, const struct profile_sample *s)
{
	return s->thread == PROFILE_NONE ? PROFILE_NONE : p->threads[s->thread].comm;
}

static bool add_up(uint64_t *sum, uint64_t value)
{
	return value < TREE_MAX_TOTAL && (*sum += value) < TREE_MAX_TOTAL;
}

static int count_in(struct survey *v, const struct tree_share *s, uint32_t stack, uint32_t comm)
{
	v->stack_used[stack] = true;
	if (comm != PROFILE_NONE)
		v->comm_used[comm] = true;
	return add_up(&v->total.weight, s->weight) && add_up(&v->total.events, s->events) ? 0
											  : -ERANGE;
}

static uint32_t add_group(struct tree_lines *l, uint32_t stack, uint32_t comm, uint32_t next)
{
	l->groups = xgrow(l->groups, &l->groups_capacity, l->nr_groups + 1, sizeof(*l->groups));
	l->groups[l->nr_groups] = (struct tree_group){ .stack = stack, .comm = comm, .next = next };
	return (uint32_t)l->nr_groups++;
}

/* Returns the index of the group, which may be new. */
static uint32_t find_group(struct tree_lines *l, struct group_finder *finder, uint32_t stack,
			   uint32_t comm)
{
	uint32_t *head = &finder->heads[stack], *other, nr_listed = 0;
	bool is_new;

	for (uint32_t i = *head; i; i = l->groups[i - 1].next, nr_listed++)
		if (l->groups[i - 1].comm == comm)
			return i - 1;
	if (nr_listed < MAX_LISTED) {
		*head = add_group(l, stack, comm, *head) + 1;
		return *head - 1;
	}
	other = number_map_at(&finder->others, (uint64_t)stack << 32 | comm, &is_new);
	if (is_new)
		*other = add_group(l, stack, comm, 0);
	return *other;
}

/* The first pass. Groups samples by stack if `finder` is not NULL. */
static int survey_samples(struct tree_lines *l, struct survey *v, struct group_finder *finder,
			  uint32_t *ret_numbers)
{
	const struct profile *p = l->p;
	int err = 0;

	for (size_t i = 0; i < p->nr_samples && !err; i++) {
		const struct profile_sample *s = &p->samples[i];
		uint32_t comm = comm_of(p, s), number = (uint32_t)i;
		struct tree_share share;

		if (!share_of(l, s, &share))
			continue;
		if (finder) {
			number = find_group(l, finder, s->stack, comm);
			l->groups[number].share.weight += share.weight;
			l->groups[number].share.events += share.events;
		}
		if (ret_numbers)
			ret_numbers[i] = number;
		err = count_in(v, &share, s->stack, comm);
	}
	return err;
}

/* Marks frames, PROFILE_NONE being used[0]. Returns how many of them were not marked yet. */
static size_t mark_frames(const uint32_t *frames, size_t nr, bool *used)
{
	size_t nr_new = 0;

	for (size_t i = 0; i < nr; i++) {
		bool *mark = &used[(uint32_t)(frames[i] + 1)];

		nr_new += !*mark;
		*mark = true;
	}
	return nr_new;
}

/*
 * Names the frames of the stacks in use. These stacks are mostly adjacent, so they are looked at in
 * runs, until all frames are known to be in use, which is mostly soon.
 */
static void name_frames(struct tree_functions *functions, const struct profile *p,
			const struct survey *v, bool without_modules)
{
	bool *used = xcalloc(p->nr_frames + 1, sizeof(*used));
	size_t left = p->nr_frames;

	used[0] = true;
	for (size_t i = 0; i < p->nr_stacks && left; i++) {
		size_t first = i, start = p->stacks[i].first_frame;

		if (!v->stack_used[i])
			continue;
		while (i + 1 < p->nr_stacks && v->stack_used[i + 1] && i - first < MARK_STACKS)
			i++;
		left -= mark_frames(p->stack_frames + start,
				    p->stacks[i].first_frame - start + p->stacks[i].nr_frames,
				    used);
	}
	tree_functions_init(functions, p, used + 1, v->comm_used, without_modules);
	free(used);
}

/* The number of frames that a stack of a merged profile has above its thread, such as its host. */
static uint32_t nr_roots(const struct profile *p, const struct profile_stack *s)
{
	uint32_t nr = 0;

	for (; nr < s->nr_frames; nr++) {
		const struct profile_frame *f = &p->frames[p->stack_frames[s->first_frame + nr]];

		if (f->nr_locations != 1 ||
		    p->functions[p->locations[f->first_location].function].kind != FUNCTION_THREAD)
			break;
	}
	return nr;
}

/* Most frames are one function: collects their codes in one small table. */
static void find_codes(struct tree_lines *l)
{
	const struct tree_functions *t = l->functions;

	l->code_of = xcalloc(l->p->nr_frames + 1, sizeof(*l->code_of));
	for (size_t i = 0; i < l->p->nr_frames; i++) {
		size_t nr = t->first[i + 1] - t->first[i];

		if (nr == 1)
			l->code_of[i + 1] = t->codes[t->first[i]];
		if (nr > l->most_codes)
			l->most_codes = nr;
	}
}

/* Can the stacks be read in place? Not if threads have names or a frame is several functions. */
static bool stacks_are_lines(const struct tree_lines *l, const struct survey *v)
{
	return l->most_codes <= 1 && l->p->nr_stack_frames <= STACK_SORT_MAX &&
	       !memchr(v->comm_used, true, l->p->nr_strings);
}

/* The most words that a line of this stack takes, its end included. Exact for large stacks. */
static size_t words_of(const struct tree_lines *l, const struct profile_stack *s)
{
	const size_t *first = l->functions->first;
	size_t nr = s->nr_frames * l->most_codes;

	if (nr <= GUESS_MAX)
		return nr + 2;
	nr = 0;
	for (uint32_t i = 0; i < s->nr_frames; i++) {
		uint32_t frame = l->p->stack_frames[s->first_frame + i];

		nr += first[frame + 1] - first[frame];
	}
	return nr + 2;
}

static uint32_t *write_codes(const struct tree_lines *l, const struct profile_stack *s,
			     uint32_t comm, uint32_t *at)
{
	const struct tree_functions *t = l->functions;
	uint32_t roots = comm == PROFILE_NONE ? UINT32_MAX : nr_roots(l->p, s);

	for (uint32_t i = 0; i < s->nr_frames; i++) {
		uint32_t frame = l->p->stack_frames[s->first_frame + i];

		if (i == roots)
			*at++ = t->comms[comm];
		if (l->code_of[frame + 1])
			*at++ = l->code_of[frame + 1];
		else
			at = mempcpy(at, &t->codes[t->first[frame]],
				     (t->first[frame + 1] - t->first[frame]) * sizeof(*at));
	}
	if (roots == s->nr_frames)
		*at++ = t->comms[comm];
	*at++ = 0;
	return at;
}

/* Returns the offset of the line. */
static size_t write_line(struct tree_lines *l, const struct profile_stack *s, uint32_t comm)
{
	size_t line = l->nr_written, need = line + words_of(l, s);

	if (need > l->written_capacity)
		l->written = xgrow(l->written, &l->written_capacity, need, sizeof(*l->written));
	l->words.words = l->written;
	l->nr_written = (size_t)(write_codes(l, s, comm, l->written + line) - l->written);
	return line;
}

static bool weights_are_small(const struct profile *p)
{
	for (size_t i = 0; i < p->nr_samples; i++)
		if (p->samples[i].weight > UINT32_MAX)
			return false;
	return true;
}

static int add_line(struct tree_lines *l, uint64_t number, uint32_t stack, uint32_t comm)
{
	const struct profile_stack *s = &l->p->stacks[stack];
	size_t line = l->words.code_of ? s->first_frame : write_line(l, s, comm);

	if (line > STACK_SORT_MAX)
		return -EFBIG;
	l->list[l->nr++] = stack_item(&l->words, line, (uint32_t)number);
	return 0;
}

static int make_lines(struct tree_lines *l)
{
	const struct profile *p = l->p;
	int err = 0;

	l->list = xreallocarray(NULL, l->nr_numbers, sizeof(*l->list));
	for (size_t i = 0; i < l->nr_groups && !err; i++)
		err = add_line(l, i, l->groups[i].stack, l->groups[i].comm);
	for (size_t i = 0; i < p->nr_samples && !l->groups && !err; i++) {
		const struct profile_sample *s = &p->samples[i];
		struct tree_share share;

		if (share_of(l, s, &share))
			err = add_line(l, l->numbers_are_weights ? share.weight : i, s->stack,
				       comm_of(p, s));
	}
	return err;
}

int tree_lines_init(struct tree_lines *l, const struct profile *p, enum profile_column column,
		    bool without_modules, struct tree_functions *ret_functions,
		    uint32_t *ret_numbers)
{
	bool grouped = p->nr_samples / 2 > p->nr_stacks;
	struct group_finder finder = { 0 };
	struct survey v = {
		.stack_used = xcalloc(p->nr_stacks + 1, sizeof(*v.stack_used)),
		.comm_used = xcalloc(p->nr_strings + 1, sizeof(*v.comm_used)),
	};
	int err;

	*l = (struct tree_lines){ .p = p, .column = column, .functions = ret_functions };
	if (grouped)
		finder.heads = xcalloc(p->nr_stacks + 1, sizeof(*finder.heads));
	err = p->nr_samples > UINT32_MAX
		      ? -EFBIG
		      : survey_samples(l, &v, grouped ? &finder : NULL, ret_numbers);
	if (err)
		goto out;
	l->total = v.total.weight;
	name_frames(ret_functions, p, &v, without_modules);
	find_codes(l);
	l->words = stack_words(NULL, NULL, (uint32_t)ret_functions->nr);
	if (stacks_are_lines(l, &v))
		l->words = stack_words(p->stack_frames, l->code_of, (uint32_t)ret_functions->nr);
	l->nr_numbers = grouped ? l->nr_groups : p->nr_samples;
	l->numbers_are_weights = !grouped && !ret_numbers &&
				 column_info_of(p, column)->counted_by == column &&
				 weights_are_small(p);
	err = make_lines(l);
out:
	number_map_fini(&finder.others);
	free(finder.heads);
	free(v.stack_used);
	free(v.comm_used);
	return err;
}

void tree_lines_fini(struct tree_lines *l)
{
	free(l->list);
	free(l->groups);
	free(l->code_of);
	free(l->written);
	*l = (struct tree_lines){ 0 };
}

struct tree_share tree_lines_share(const struct tree_lines *l, uint32_t number)
{
	struct tree_share share = { 0 };

	if (l->groups)
		return l->groups[number].share;
	share_of(l, &l->p->samples[number], &share);
	return share;
}
