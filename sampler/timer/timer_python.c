/*
 * Python in the targets of the timer source: what the walks inside them need to know of the
 * interpreter, and what they send of the code objects they met.
 */
#include <stdlib.h>
#include <string.h>

#include "sampler/timer/timer.h"

#include "core/base/alloc.h"
#include "core/portable/pycode.h"
#include "sampler/runtimes/python/code_objects.h"
#include "sampler/runtimes/python/interpreter_files.h"
#include "sampler/runtimes/python/merge_frames.h"

_Static_assert(sizeof(struct code_record) % 8 == 0, "a record is whole words");

void timer_find_python(struct source *s, struct timer_process *p)
{
	if (!s->pythons || !python_files_find(s->pythons, &p->maps, &p->python))
		memset(&p->python, 0, sizeof(p->python));
}

void timer_add_code(struct timer_process *p, const uint64_t *words, size_t nr_words)
{
	struct agent_region *shared = p->region.shared;

	if (!p->codes)
		p->codes = python_codes_new();
	/* the words are a copy, aligned as the record is */
	if (!python_codes_add(p->codes, (const struct code_record *)words, nr_words * 8))
		memset(shared->codes, 0, sizeof(shared->codes));
}

static bool is_python(uint64_t word)
{
	return (word & (FRAME_EXACT | FRAME_PYTHON)) == FRAME_PYTHON;
}

bool timer_knows_codes(const struct timer_process *p, const uint64_t *words, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (is_python(words[i]) && (!p->codes || !python_codes_know(p->codes, words[i])))
			return false;
	return true;
}

uint64_t *timer_python_room(struct source *s)
{
	if (!s->python_room)
		s->python_room = xmalloc((2 * TIMER_MAX_NATIVE + REGION_PYTHON_WORDS) * 8);
	return s->python_room;
}

void timer_merge_python(struct source *s, const struct timer_process *p, const uint64_t *sps,
			const uint64_t *words, size_t nr_words, uint64_t *frames, struct walked *w)
{
	uint64_t *native = timer_python_room(s), *merged = native + TIMER_MAX_NATIVE;
	const struct native_stack stack = { native, sps, w->nr_user };
	const struct python_runs runs = {
		.words = words,
		.nr = nr_words,
		.eval_start = p->python.eval_start,
		.eval_size = p->python.eval_end - p->python.eval_start,
	};

	if (sps)
		w->nr_user =
			python_merge(&stack, &runs, merged, TIMER_MAX_NATIVE + REGION_PYTHON_WORDS);
	w->gap = python_merge_cut(frames, sps ? merged : native, w->nr_user, MAX_USER_FRAMES);
	if (w->nr_user > MAX_USER_FRAMES)
		w->nr_user = MAX_USER_FRAMES;
}
