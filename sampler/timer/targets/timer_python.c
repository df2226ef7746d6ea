/*
 * A target sends each code object once, before the first sample that names it, and remembers in its
 * region which it has sent. When our table of them is full, that memory is cleared, so the target
 * sends again what it still meets.
 */
#include "sampler/timer/targets/timer_python.h"

#include <string.h>

#include "core/portable/pycode.h"
#include "sampler/runtimes/python/code_objects.h"
#include "sampler/runtimes/python/interpreter_files.h"
#include "sampler/runtimes/python/merge_frames.h"
#include "sampler/sink/sample_sink.h"
#include "sampler/timer/targets/timer_process.h"

_Static_assert(sizeof(struct code_record) % 8 == 0, "a record is whole words");

void timer_python_find(struct timer_process *p, struct python_files *files)
{
	if (!files || !python_files_find(files, &p->maps, &p->python.layout))
		memset(&p->python.layout, 0, sizeof(p->python.layout));
}

void timer_python_fini(struct timer_process *p)
{
	python_codes_free(p->python.codes);
}

void timer_python_add_code(struct timer_process *p, struct code_reader *reader,
			   const uint64_t *words, size_t nr_words)
{
	struct agent_region *shared = p->region.shared;

	if (!p->python.codes)
		p->python.codes = python_codes_new(reader);
	/* the words are a copy, aligned as the record is */
	if (!python_codes_add(p->python.codes, (uint64_t)p->maps.pid,
			      (const struct code_record *)words, nr_words * 8))
		memset(shared->codes, 0, sizeof(shared->codes));
}

bool timer_python_knows(const struct timer_process *p, const uint64_t *words, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (FRAME_IS_PYTHON(words[i]) &&
		    (!p->python.codes || !python_codes_know(p->python.codes, words[i])))
			return false;
	return true;
}

size_t timer_python_room_words(void)
{
	return 2 * TIMER_MAX_NATIVE + REGION_PYTHON_WORDS;
}

void timer_python_merge(const struct timer_process *p, uint64_t *native, const uint64_t *sps,
			const uint64_t *words, size_t nr_words, uint64_t *frames, struct walked *w)
{
	uint64_t *merged = native + TIMER_MAX_NATIVE;
	const struct native_stack stack = { native, sps, w->nr_user };
	const struct python_runs runs = {
		.words = words,
		.nr = nr_words,
		.eval_start = p->python.layout.eval_start,
		.eval_size = p->python.layout.eval_end - p->python.layout.eval_start,
	};

	if (sps)
		w->nr_user =
			python_merge(&stack, &runs, merged, TIMER_MAX_NATIVE + REGION_PYTHON_WORDS);
	w->gap = python_merge_cut(frames, sps ? merged : native, w->nr_user, MAX_USER_FRAMES);
	if (w->nr_user > MAX_USER_FRAMES)
		w->nr_user = MAX_USER_FRAMES;
}
