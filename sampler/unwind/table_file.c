/*
 * The file is a header, the rules from WALK_FIRST_RULE on, functions, pages and runs. The writer
 * numbers rules in its own set, so each row is checked and renumbered in one pass. Runs must follow
 * each other without gaps, so that none is renumbered twice.
 */
#include "sampler/unwind/table_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/full_io.h"
#include "core/sandbox/answer_file.h"
#include "sampler/unwind/rule_set.h"
#include "sampler/unwind/unwind_table.h"

#define PAGES_MAX (1u << 22) /* 4 GiB of text */

struct table_header {
	uint64_t base;
	uint32_t nr_rules, nr_functions, nr_pages, nr_words;
	uint32_t nr_fdes, nr_broken_fdes, nr_rows, nr_unsupported, nr_derived_functions;
	uint32_t nr_rules_dropped;
};
_Static_assert(sizeof(struct table_header) % 8 == 0, "what follows is aligned");

int table_file_write(int fd, const struct unwind_table *t, const struct rule_set *set)
{
	uint32_t nr_rules;
	const struct walk_rule *rules = rule_set_rules(set, &nr_rules);
	const struct table_header header = {
		.base = t->base,
		.nr_rules = nr_rules - WALK_FIRST_RULE,
		.nr_functions = t->nr_functions,
		.nr_pages = t->nr_pages,
		.nr_words = t->nr_words,
		.nr_fdes = t->nr_fdes,
		.nr_broken_fdes = t->nr_broken_fdes,
		.nr_rows = t->nr_rows,
		.nr_unsupported = t->nr_unsupported,
		.nr_derived_functions = t->nr_derived_functions,
		.nr_rules_dropped = t->nr_rules_dropped,
	};
	int err = full_write(fd, &header, sizeof(header));

	if (!err)
		err = full_write(fd, rules + WALK_FIRST_RULE, header.nr_rules * sizeof(*rules));
	if (!err)
		err = full_write(fd, t->functions, t->nr_functions * sizeof(*t->functions));
	if (!err)
		err = full_write(fd, t->pages, t->nr_pages * sizeof(*t->pages));
	return err ? err : full_write(fd, t->words, t->nr_words * sizeof(*t->words));
}

/* The file while it is checked. */
struct reader {
	struct unwind_table *table;
	struct table_header *header;
	const struct walk_rule *rules;
	uint16_t *numbers; /* by the writer's number of a rule: ours */
	uint32_t nr_numbers;
	bool same; /* all numbers are ours already */
};

/* The parts must fill the file exactly. */
static bool find_parts(struct reader *r, uint64_t size)
{
	struct table_header *h = r->header;
	struct unwind_table *t = r->table;
	uint64_t rules = sizeof(*h);
	uint64_t functions = rules + (uint64_t)h->nr_rules * sizeof(*r->rules);
	uint64_t pages = functions + (uint64_t)h->nr_functions * sizeof(*t->functions);
	uint64_t words = pages + (uint64_t)h->nr_pages * sizeof(*t->pages);
	uint8_t *start = (uint8_t *)h;

	if (h->nr_rules > WALK_MAX_RULES - WALK_FIRST_RULE || !h->nr_pages ||
	    h->nr_pages > PAGES_MAX || h->base % WALK_PAGE_SIZE ||
	    h->base + ((uint64_t)h->nr_pages << WALK_PAGE_SHIFT) < h->base ||
	    words + (uint64_t)h->nr_words * sizeof(*t->words) != size)
		return false;
	r->rules = (const struct walk_rule *)(start + rules);
	t->functions = h->nr_functions ? (struct unwind_function *)(start + functions) : NULL;
	t->pages = (uint32_t *)(start + pages);
	t->words = (uint32_t *)(start + words);
	t->base = h->base;
	t->nr_functions = h->nr_functions;
	t->nr_pages = h->nr_pages;
	t->nr_words = h->nr_words;
	t->nr_fdes = h->nr_fdes;
	t->nr_broken_fdes = h->nr_broken_fdes;
	t->nr_rows = h->nr_rows;
	t->nr_unsupported = h->nr_unsupported;
	t->nr_derived_functions = h->nr_derived_functions;
	t->nr_rules_dropped = h->nr_rules_dropped;
	return true;
}

static bool functions_are_sound(const struct unwind_table *t, uint64_t code_size)
{
	uint32_t start = 0;

	for (uint32_t i = 0; i < t->nr_functions; i++) {
		const struct unwind_function *f = &t->functions[i];

		if (f->start < start || f->end <= f->start || f->end > code_size)
			return false;
		start = f->start;
	}
	return true;
}

/* Gives each rule of the writer our number; WALK_RULE_OVER_LIMIT where there is no room for it. */
static bool take_rules(struct reader *r, struct rule_set *set)
{
	r->nr_numbers = r->header->nr_rules + WALK_FIRST_RULE;
	r->numbers = xcalloc(r->nr_numbers, sizeof(*r->numbers));
	for (uint32_t i = 0; i < WALK_FIRST_RULE; i++)
		r->numbers[i] = (uint16_t)i;
	r->same = true;
	for (uint32_t i = WALK_FIRST_RULE; i < r->nr_numbers; i++) {
		struct walk_rule rule = r->rules[i - WALK_FIRST_RULE];
		uint32_t number;

		if (rule.cfa <= WALK_CFA_END || rule.cfa == WALK_CFA_OVER_LIMIT ||
		    rule.cfa > WALK_CFA_OTHER_STACK || rule.fp > WALK_FP_UNDEF)
			return false;
		rule_set_intern(set, rule, &number);
		r->numbers[i] = (uint16_t)number;
		r->same &= number == i;
	}
	return true;
}

/* Renumbers the rule in the low half of a word. */
static bool take_word(struct reader *r, uint32_t *word)
{
	uint32_t theirs = walk_row_rule(*word);

	if (theirs >= r->nr_numbers)
		return false;
	if (r->same)
		return true;
	*word = (*word & ~0xffffu) | r->numbers[theirs];
	r->table->nr_rules_dropped +=
		theirs >= WALK_FIRST_RULE && r->numbers[theirs] == WALK_RULE_OVER_LIMIT;
	return true;
}

/* Takes the run at words[first]. Returns the index after it; 0: it is not sound. */
static uint32_t take_run(struct reader *r, uint32_t first)
{
	uint32_t *words = r->table->words, nr, low = 0;

	if (first >= r->table->nr_words)
		return 0;
	nr = words[first] >> 16;
	if (nr < 2 || nr > WALK_MAX_RUN || nr > r->table->nr_words - first ||
	    !take_word(r, &words[first]))
		return 0;
	for (uint32_t i = first + 1; i < first + nr; i++) {
		uint32_t next = words[i] >> 16;

		if (next <= low || next >= WALK_PAGE_SIZE || !take_word(r, &words[i]))
			return 0;
		low = next;
	}
	return first + nr;
}

static bool take_pages(struct reader *r)
{
	struct unwind_table *t = r->table;
	uint32_t next = 0;

	for (uint32_t i = 0; i < t->nr_pages; i++) {
		if (t->pages[i] & WALK_ONE_RULE) {
			if (t->pages[i] & ~WALK_ONE_RULE & ~0xffffu || !take_word(r, &t->pages[i]))
				return false;
			continue;
		}
		if (t->pages[i] != next)
			return false;
		next = take_run(r, next);
		if (!next)
			return false;
	}
	return next == t->nr_words;
}

int table_file_take(void *mapping, uint64_t size, uint64_t code_size, struct rule_set *rules,
		    struct unwind_table **ret_table)
{
	struct reader r = { .table = xcalloc(1, sizeof(*r.table)) };
	bool sound;

	r.table->mapping = mapping;
	r.table->mapping_size = size;
	r.header = mapping;
	sound = size >= sizeof(*r.header) && find_parts(&r, size) &&
		functions_are_sound(r.table, code_size) && take_rules(&r, rules) && take_pages(&r);
	free(r.numbers);
	if (!sound) {
		unwind_table_free(r.table);
		return -EBADMSG;
	}
	*ret_table = r.table;
	return 0;
}

int table_file_read(int fd, uint64_t code_size, struct rule_set *rules,
		    struct unwind_table **ret_table)
{
	uint64_t size = 0;
	void *mapping;
	int err = answer_file_map(fd, sizeof(struct table_header), TABLE_FILE_MAX, &mapping, &size);

	return err ? err : table_file_take(mapping, size, code_size, rules, ret_table);
}
