/*
 * Workers take units from a list. Each has its own view of the file (caches, strings, buffers; see
 * dwarf_file_share) and writes only its own frames and the answers to the addresses of its units.
 * So workers share nothing that changes, except one counter.
 */
#include "symbolizer/dwarf/answers.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/order.h"
#include "symbolizer/dwarf/subprograms.h"
#include "symbolizer/dwarf/unit_index.h"
#include "symbolizer/dwarf/source_lines.h"
#include "symbolizer/dwarf/split_units.h"

#define DEPTH_MAX 256 /* inlined functions shown at one address */
#define WORKERS_MAX 8
/* of units: for less, starting a thread takes longer than reading */
#define BYTES_PER_WORKER (2u << 20)
#define BUFFERS_MAX (256u << 20)     /* bytes of the units that are read at the same time */
#define SPLIT_UNIT_SIZE (256u << 10) /* bytes, a guess: a skeleton does not tell the size */
#define NO_UNIT UINT32_MAX

/* Where the frames of an address are: in the chain of the worker that found them. */
struct answer {
	const struct worker *worker;
	size_t first;
	uint32_t nr;
};

/* An address to look up, and the unit it lies in. */
struct question {
	uint64_t address;
	uint32_t unit, index;
};

/* The questions about one unit, for one worker. */
struct batch {
	const struct question *questions;
	size_t nr;
	uint64_t unit_size; /* bytes */
	bool done;	    /* set by its worker */
};

struct worker {
	struct dwarf_answers *answers;
	struct dwarf_file *file;
	struct dwarf_package *package; /* or NULL */
	struct symbol_chain frames;
	struct worker *next; /* in answers->workers */
	pthread_t thread;
	/* About the unit being read. */
	struct dwarf_functions functions;
	struct address_set set;
	struct dwarf_line *lines;
	uint64_t *addresses;
	size_t lines_capacity, addresses_capacity;
};

struct dwarf_answers {
	struct dwarf_file *file;
	struct dwarf_package *package; /* or NULL */
	uint64_t *addresses;
	struct answer *answers;
	size_t nr;
	struct worker *workers; /* from all rounds; they own the frames and strings */
	struct batch *batches;
	size_t nr_batches;
	/*
	 * The next batch to take. Relaxed: the counter only hands out numbers. What they index was
	 * written before pthread_create(), and what workers write is read after pthread_join();
	 * both order memory.
	 */
	atomic_size_t next_batch;
};

static int compare_questions(const void *a, const void *b)
{
	const struct question *x = a, *y = b;

	return ORDER(x->unit, y->unit) ?: ORDER(x->address, y->address);
}

/* Largest first, so that no worker starts on the longest when the others are done. */
static int compare_batches(const void *a, const void *b)
{
	const struct batch *x = a, *y = b;

	return ORDER(y->unit_size, x->unit_size) ?: ORDER(x->questions, y->questions);
}

/* Walks from the innermost function outwards. Returns the number of indices, at most DEPTH_MAX. */
static size_t walk_out(const struct dwarf_functions *f, uint32_t function, uint32_t *chain)
{
	size_t nr = 0;

	while (function != DWARF_NO_FUNCTION && nr < DEPTH_MAX) {
		chain[nr++] = function;
		function = f->functions[function].parent;
	}
	return nr;
}

/* Adds the frames of one address, outermost first. Returns the number of them. */
static uint32_t add_frames(struct worker *w, struct dwarf_unit *unit, uint32_t innermost,
			   const struct dwarf_line *line)
{
	uint32_t inner_first[DEPTH_MAX];
	size_t nr = walk_out(&w->functions, innermost, inner_first);
	struct dwarf_lines *lines = dwarf_unit_lines(unit);
	struct symbol_frame *frame = NULL;
	uint32_t added = 0;

	for (; nr; added++) {
		const struct dwarf_function *f = &w->functions.functions[inner_first[--nr]];
		const struct dwarf_description *d = dwarf_function_describe(unit, f);

		/* The line of a frame is where the next function was inlined into it. */
		if (frame) {
			frame->line = f->call_line;
			frame->file = lines ? dwarf_lines_path(lines, f->call_file) : NULL;
		}
		frame = symbol_chain_add(&w->frames);
		frame->name = d->name;
		frame->is_linkage_name = d->is_linkage_name;
		frame->declared_file = d->file;
		frame->declared_line = d->line;
	}
	if (!line->known)
		return added;
	if (!frame) {
		frame = symbol_chain_add(&w->frames);
		added++;
	}
	frame->line = line->line;
	frame->file = dwarf_lines_path(lines, line->file);
	return added;
}

/*
 * Answers those of the questions, all about one unit, that have no answer yet. Returns false where
 * a reference led out of the unit and .debug_info is not in memory: then nothing was answered, and
 * the worker must not be used again.
 */
static bool answer_unit(struct worker *w, const struct question *questions, size_t nr,
			uint32_t unit_index)
{
	struct dwarf_unit *unit = &w->file->units[unit_index], *split;
	size_t nr_frames = w->frames.nr;

	w->lines = xgrow(w->lines, &w->lines_capacity, nr, sizeof(*w->lines));
	w->addresses = xgrow(w->addresses, &w->addresses_capacity, nr, sizeof(*w->addresses));
	for (size_t i = 0; i < nr; i++)
		w->addresses[i] = questions[i].address;
	if (!dwarf_unit_load(unit))
		return true;
	split = unit->dwo_name ? dwarf_split_open(unit, w->package) : NULL;
	address_set_fill(&w->set, w->addresses, nr);
	dwarf_functions_find(&w->functions, split ? split : unit, &w->set);
	dwarf_unit_find_lines(unit, w->addresses, nr, w->lines);
	for (size_t i = 0; i < nr && !w->file->wants_info; i++) {
		struct answer *answer = &w->answers->answers[questions[i].index];

		if (answer->nr)
			continue;
		answer->worker = w;
		answer->first = w->frames.nr;
		answer->nr = add_frames(w, split ? split : unit, w->functions.innermost[i],
					&w->lines[i]);
	}
	dwarf_split_close(split);
	if (!w->file->wants_info)
		return true;
	for (size_t i = 0; i < nr; i++) {
		struct answer *answer = &w->answers->answers[questions[i].index];

		if (answer->worker == w && answer->first >= nr_frames)
			*answer = (struct answer){ 0 };
	}
	w->frames.nr = nr_frames;
	return false;
}

static struct worker *worker_new(struct dwarf_answers *a)
{
	struct worker *w = xcalloc(1, sizeof(*w));

	w->answers = a;
	w->file = dwarf_file_share(a->file);
	w->package = dwarf_package_share(a->package);
	w->next = a->workers;
	a->workers = w;
	return w;
}

/* Frees what is needed only for reading units; frames and strings stay. */
static void worker_finish(struct worker *w)
{
	dwarf_functions_fini(&w->functions);
	address_set_fini(&w->set);
	free(w->lines);
	free(w->addresses);
	w->functions = (struct dwarf_functions){ 0 };
	w->lines = NULL;
	w->addresses = NULL;
	dwarf_package_trim(w->package);
	dwarf_file_trim(w->file);
}

static void *worker_run(void *arg)
{
	struct worker *w = arg;
	struct dwarf_answers *a = w->answers;

	for (;;) {
		size_t i = atomic_fetch_add_explicit(&a->next_batch, 1, memory_order_relaxed);
		struct batch *b;

		if (i >= a->nr_batches)
			break;
		b = &a->batches[i];
		if (b->done)
			continue;
		b->done = answer_unit(w, b->questions, b->nr, b->questions->unit);
		if (!b->done)
			break;
	}
	worker_finish(w);
	return NULL;
}

static size_t count_workers(const struct dwarf_answers *a)
{
	uint64_t bytes = 0, largest = 1;
	size_t nr = WORKERS_MAX;
	cpu_set_t cpus;

	for (size_t i = 0; i < a->nr_batches; i++) {
		bytes += a->batches[i].unit_size;
		if (largest < a->batches[i].unit_size)
			largest = a->batches[i].unit_size;
	}
	if (sched_getaffinity(0, sizeof(cpus), &cpus))
		return 1;
	if (nr > (size_t)CPU_COUNT(&cpus))
		nr = (size_t)CPU_COUNT(&cpus);
	if (nr > a->nr_batches)
		nr = a->nr_batches;
	if (nr > bytes / BYTES_PER_WORKER)
		nr = bytes / BYTES_PER_WORKER;
	if (nr > BUFFERS_MAX / largest)
		nr = BUFFERS_MAX / largest;
	return nr ? nr : 1;
}

/*
 * Works on all batches that are not done, with this thread as one worker. Returns false where some
 * of them need all of .debug_info.
 */
static bool run_round(struct dwarf_answers *a)
{
	struct worker *started[WORKERS_MAX], *own = worker_new(a);
	size_t nr = count_workers(a), nr_started = 0;
	bool done = true;

	atomic_store_explicit(&a->next_batch, 0, memory_order_relaxed);
	while (nr_started + 1 < nr) {
		struct worker *w = worker_new(a);

		if (pthread_create(&w->thread, NULL, worker_run, w))
			break; /* fewer workers do the same work */
		started[nr_started++] = w;
	}
	worker_run(own);
	while (nr_started)
		pthread_join(started[--nr_started]->thread, NULL);
	for (size_t i = 0; i < a->nr_batches; i++)
		done &= a->batches[i].done;
	return done;
}

static void make_batches(struct dwarf_answers *a, const struct question *questions, size_t nr)
{
	size_t capacity = 0, end;

	for (size_t at = 0; at < nr; at = end) {
		const struct dwarf_unit *unit = &a->file->units[questions[at].unit];
		uint64_t size;

		for (end = at + 1; end < nr && questions[end].unit == questions[at].unit;)
			end++;
		size = unit->end - unit->offset;
		if (a->file->has_skeletons && size < SPLIT_UNIT_SIZE)
			size = SPLIT_UNIT_SIZE;
		a->batches = xgrow(a->batches, &capacity, a->nr_batches + 1, sizeof(*a->batches));
		a->batches[a->nr_batches++] = (struct batch){
			.questions = questions + at,
			.nr = end - at,
			.unit_size = size,
		};
	}
	if (a->nr_batches)
		qsort(a->batches, a->nr_batches, sizeof(*a->batches), compare_batches);
}

/* Looks for the addresses without an answer in the units that do not say where their code is. */
static void answer_rest(struct dwarf_answers *a, const struct dwarf_index *index,
			struct question *questions)
{
	struct worker *w;
	size_t nr = 0;

	for (size_t i = 0; i < a->nr; i++) {
		if (!a->answers[i].nr)
			questions[nr++] =
				(struct question){ a->addresses[i], NO_UNIT, (uint32_t)i };
	}
	if (!nr || !index->nr_unknown)
		return;
	w = worker_new(a);
	for (size_t i = 0; i < index->nr_unknown; i++) {
		uint32_t unit = (uint32_t)(index->unknown[i] - a->file->units);

		if (answer_unit(w, questions, nr, unit))
			continue;
		worker_finish(w);
		dwarf_file_load_info(a->file);
		w = worker_new(a);
		answer_unit(w, questions, nr, unit);
	}
	worker_finish(w);
}

static void answer_all(struct dwarf_answers *a)
{
	struct question *questions = xcalloc(a->nr, sizeof(*questions));
	struct dwarf_index index;
	bool sorted = true;
	size_t nr = 0;

	dwarf_index_init(&index, a->file);
	if (a->file->has_skeletons)
		a->package = dwarf_package_open(a->file);
	for (size_t i = 0; i < a->nr; i++) {
		const struct dwarf_unit *unit = dwarf_index_find(&index, a->addresses[i]);

		if (!unit)
			continue;
		questions[nr] = (struct question){ a->addresses[i],
						   (uint32_t)(unit - a->file->units), (uint32_t)i };
		sorted &= !nr || compare_questions(&questions[nr - 1], &questions[nr]) <= 0;
		nr++;
	}
	if (!sorted)
		qsort(questions, nr, sizeof(*questions), compare_questions);
	make_batches(a, questions, nr);
	if (nr && !run_round(a)) {
		dwarf_file_load_info(a->file);
		run_round(a);
	}
	answer_rest(a, &index, questions);
	dwarf_index_fini(&index);
	free(a->batches);
	free(questions);
}

struct dwarf_answers *dwarf_answers_new(struct dwarf_file *file, const uint64_t *addresses,
					size_t nr, struct dwarf_losses *ret_losses)
{
	struct dwarf_answers *a = xcalloc(1, sizeof(*a));

	a->file = file;
	a->nr = nr < UINT32_MAX ? nr : UINT32_MAX - 1;
	a->addresses = xcalloc(a->nr, sizeof(*a->addresses));
	memcpy(a->addresses, addresses, a->nr * sizeof(*a->addresses));
	a->answers = xcalloc(a->nr, sizeof(*a->answers));
	answer_all(a);
	*ret_losses = (struct dwarf_losses){ .damaged = !file->budget };
	for (const struct worker *w = a->workers; w; w = w->next) {
		ret_losses->damaged |= !w->file->budget;
		ret_losses->nr_split_missing += w->file->nr_split_missing;
	}
	return a;
}

void dwarf_answers_free(struct dwarf_answers *a)
{
	struct worker *next;

	if (!a)
		return;
	for (struct worker *w = a->workers; w; w = next) {
		next = w->next;
		dwarf_package_free(w->package);
		dwarf_file_free(w->file);
		free(w->frames.frames);
		free(w);
	}
	dwarf_package_free(a->package);
	free(a->addresses);
	free(a->answers);
	free(a);
}

bool dwarf_answers_get(const struct dwarf_answers *a, uint64_t address, struct symbol_chain *chain)
{
	const uint64_t *found;
	const struct answer *answer;

	found = bsearch(&address, a->addresses, a->nr, sizeof(address), order_u64);
	if (!found)
		return false;
	answer = &a->answers[found - a->addresses];
	for (uint32_t i = 0; i < answer->nr; i++)
		*symbol_chain_add(chain) = answer->worker->frames.frames[answer->first + i];
	return answer->nr > 0;
}
