/* The start of each test of the table builder: an empty file under construction, and no rules. */
#ifndef SPROF_TESTS_CFI_FIXTURE_H
#define SPROF_TESTS_CFI_FIXTURE_H

#include "tests/unit/cfi_maker.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/unwind/rule_set.h"
#include "sampler/unwind/unwind_table.h"

struct fixture {
	struct cfi_maker maker;
	struct rule_set *rules;
	struct unwind_table *table;
};

static inline int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	maker_init(&f->maker);
	f->rules = rule_set_new();
	*state = f;
	return 0;
}

/* Builds the table of the file as it is now. 0 or -errno. */
static inline int build(struct fixture *f)
{
	size_t size = maker_finish(&f->maker);
	/* a copy of the exact size, so that ASan detects a read past the end */
	void *copy = malloc(size);
	int err;

	memcpy(copy, f->maker.image, size);
	unwind_table_free(f->table);
	f->table = NULL;
	err = unwind_table_build_memory(copy, size, f->rules, &f->table);
	free(copy);
	return err;
}

static inline int tear_down(void **state)
{
	struct fixture *f = *state;

	unwind_table_free(f->table);
	rule_set_free(f->rules);
	free(f->maker.image);
	free(f);
	return 0;
}

#endif
