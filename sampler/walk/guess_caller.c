/*
 * Words that follow a call are tried in the order of what is known of that call: first those that
 * call code without a rule before the place where the walk ended, the nearest first; then those
 * whose target is not known or has rules in part. A guess may lead to another function without a
 * rule, from which the search goes on; the number of walks is limited for all of them together.
 *
 * The stack and the code are the target's, which can make every word a plausible return address and
 * every walk as long as the stack. So the work is counted in steps, whatever it consists of, and
 * the search ends when they are used up.
 */
#include "sampler/walk/guess_caller.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/order.h"
#include "sampler/unwind/x86_64/call_before.h"
#include "sampler/walk/libunwind_modules.h"

#define MAX_WORDS 512	   /* of the stack, from the stack pointer up */
#define MAX_ALL_WORDS 2048 /* of all searches for one stack */
#define MAX_CANDIDATES 64
#define MAX_WALKS 32
#define MAX_FRAMES 1024
/*
 * For one stack: words looked at and rules looked up. A word is looked up in the map table and in
 * its file, so it costs a few times what a rule costs; a first look into a file costs far more.
 */
#define MAX_STEPS 6000u
#define STEPS_OF_FILE 500u
#define MAX_BREAKS 4		 /* functions without a rule in one stack */
#define FUNCTION_MAX (64u << 10) /* bytes from the start of a function to the place in it */

struct guess {
	struct libunwind_modules *modules;
	const struct user_walk_ops *ops;
	void *context;
	uint64_t *frames, *sps;
	size_t max;
	unsigned int nr_walks, nr_words, nr_steps;
	size_t nr_files;  /* that are open */
	uint8_t last_cfa; /* enum walk_cfa of the last step */
};

/* A word that may be the return address. */
struct candidate {
	uint64_t word, at;
	uint64_t distance; /* from what it calls to the place without a rule; UINT64_MAX: unknown */
};

/* Counts a step, and the files that the one before opened. false: the search must end. */
static bool step(struct guess *g)
{
	size_t nr_files = libunwind_modules_nr(g->modules);

	g->nr_steps += 1 + STEPS_OF_FILE * (unsigned int)(nr_files - g->nr_files);
	g->nr_files = nr_files;
	return g->nr_steps <= MAX_STEPS;
}

static bool read_word(void *context, uint64_t address, uint64_t *ret)
{
	const struct guess *g = context;

	return g->ops->read(g->context, address, ret);
}

static bool find_rule(void *context, uint64_t address, struct walk_rule *ret)
{
	struct guess *g = context;

	if (!step(g) || !g->ops->find_rule(g->context, address, ret))
		return false;
	g->last_cfa = ret->cfa;
	return true;
}

/* The bytes of the file before an address. */
static bool read_code(const struct guess *g, const struct snapshot_place *place, uint64_t address,
		      uint8_t code[CALL_BEFORE_BYTES])
{
	uint64_t from = address - CALL_BEFORE_BYTES - place->bias, words[2];

	if (!place->module || address - place->start < CALL_BEFORE_BYTES)
		return false;
	for (int i = 0; i < 2; i++)
		if (!libunwind_modules_read(g->modules, place->module, (from & ~7ull) + 8u * i,
					    &words[i]))
			return false;
	memcpy(code, (uint8_t *)words + (from & 7), CALL_BEFORE_BYTES);
	return true;
}

/* Is there no rule at an address? */
static bool lacks_rule(struct guess *g, uint64_t address)
{
	struct walk_rule rule;

	return step(g) && g->ops->find_rule(g->context, address, &rule) &&
	       rule.cfa == WALK_CFA_NONE;
}

/* May the word be a return address into the caller of the code at pc? */
static bool judge(struct guess *g, struct candidate *c, uint64_t pc)
{
	struct snapshot_place place, here;
	uint8_t code[CALL_BEFORE_BYTES];
	enum call_before kind;
	uint64_t target;

	c->distance = UINT64_MAX;
	if (!libunwind_modules_find(g->modules, c->word, &place) ||
	    !read_code(g, &place, c->word, code))
		return false;
	kind = call_before(code, c->word, &target);
	if (kind != CALL_DIRECT)
		return kind == CALL_INDIRECT;
	if (target <= pc && pc - target < FUNCTION_MAX) {
		if (lacks_rule(g, target))
			c->distance = pc - target;
		return true;
	}
	/* functions of other files are called through the PLT */
	return !libunwind_modules_find(g->modules, pc, &here) || here.key != place.key;
}

static int compare(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	return ORDER(x->distance, y->distance) ?: ORDER(x->at, y->at);
}

static bool search(struct guess *g, const struct walk_regs *broken, size_t *nr, int nr_breaks);

/* Walks from a caller whose return address lay at `at`. true: to the root. */
static bool walk_from(struct guess *g, uint64_t word, uint64_t at, uint64_t fp, size_t *nr,
		      int nr_breaks)
{
	static const struct user_walk_ops ops = { read_word, find_rule };
	struct walk_regs regs = { .pc = word, .sp = at + 8, .fp = fp };
	size_t before = *nr;
	enum walk_status status;

	if (g->nr_walks++ >= MAX_WALKS || !step(g))
		return false;
	g->frames[*nr] = user_walk_frame(&regs);
	g->sps[(*nr)++] = regs.sp;
	status = user_walk(&ops, g, &regs, g->frames, g->sps, g->max, nr);
	/* a word that happens to be 0 looks like the root too */
	if (status == WALK_END && g->last_cfa == WALK_CFA_END)
		return true;
	if ((status == WALK_NO_RULE || status == WALK_BAD_STACK) && *nr > before + 1 &&
	    nr_breaks < MAX_BREAKS && search(g, &regs, nr, nr_breaks + 1))
		return true;
	*nr = before;
	return false;
}

/* The caller's rbp is that of the frame, or was pushed right below the return address. */
static bool try(struct guess *g, const struct candidate *c, const struct walk_regs *broken,
		size_t *nr, int nr_breaks)
{
	uint64_t pushed;

	if (walk_from(g, c->word, c->at, broken->fp, nr, nr_breaks))
		return true;
	return c->at > broken->sp && read_word(g, c->at - 8, &pushed) && pushed > c->at &&
	       walk_from(g, c->word, c->at, pushed, nr, nr_breaks);
}

static bool search(struct guess *g, const struct walk_regs *broken, size_t *nr, int nr_breaks)
{
	uint64_t start = (broken->sp + 7) & ~7ull, pc = user_walk_pc(broken);
	struct candidate found[MAX_CANDIDATES];
	size_t nr_found = 0;

	for (uint64_t i = 0; i < MAX_WORDS && nr_found < MAX_CANDIDATES; i++) {
		struct candidate c = { .at = start + 8 * i };

		if (g->nr_words++ >= MAX_ALL_WORDS || !step(g) || !read_word(g, c.at, &c.word))
			break;
		if (judge(g, &c, pc))
			found[nr_found++] = c;
	}
	qsort(found, nr_found, sizeof(*found), compare);
	for (size_t i = 0; i < nr_found && *nr < g->max; i++)
		if (try(g, &found[i], broken, nr, nr_breaks))
			return true;
	return false;
}

bool guess_caller(struct libunwind_modules *modules, const struct user_walk_ops *ops, void *context,
		  const struct walk_regs *broken, uint64_t *frames, uint64_t *sps, size_t max,
		  size_t *nr, unsigned int *ret_steps)
{
	bool found;
	struct guess guess = {
		.modules = modules,
		.ops = ops,
		.context = context,
		.frames = frames,
		.sps = sps,
		.nr_files = libunwind_modules_nr(modules),
		.max = *nr + MAX_FRAMES < max ? *nr + MAX_FRAMES : max,
	};

	found = search(&guess, broken, nr, 1);
	*ret_steps = guess.nr_steps;
	return found;
}
