/*
 * Derives rules from machine code. The first byte decides where functions begin; the rest is the
 * text. The same bytes are then read as runtime code.
 */
#include <stdlib.h>
#include <string.h>

#include "sampler/unwind/code/derived_rules.h"
#include "sampler/unwind/unwind_table.h"

static bool is_function(void *context, uint64_t vaddr)
{
	(void)context;
	return vaddr & 1;
}

static enum code_fate fate(void *context, uint64_t vaddr)
{
	(void)context;
	return (enum code_fate)(vaddr % 3);
}

/* The text is also where its constants are, so that the fuzzer can make tables of jumps. */
static bool read_constants(void *context, uint64_t vaddr, void *buffer, size_t size)
{
	const struct derived_text *text = context;

	if (vaddr < text->vaddr || vaddr - text->vaddr > text->size ||
	    size > text->size - (vaddr - text->vaddr))
		return false;
	memcpy(buffer, text->bytes + (vaddr - text->vaddr), size);
	return true;
}

static uint64_t next_reference(void *context, uint64_t vaddr)
{
	(void)context;
	return (vaddr | 63) + 1;
}

static void build_table(const uint8_t *code, size_t size)
{
	struct rule_set *rules = rule_set_new();
	struct unwind_table *table;
	uint32_t nr;

	if (!unwind_table_build_code(code, size, rules, &table)) {
		rule_set_rules(rules, &nr);
		for (size_t at = 0; at < size + 4096; at++)
			if (unwind_table_find(table, at) >= (at < size ? nr : 1))
				abort();
		for (uint32_t i = 0; i < table->nr_functions; i++)
			if (table->functions[i].start >= table->functions[i].end ||
			    table->functions[i].end > size)
				abort();
		unwind_table_free(table);
	}
	rule_set_free(rules);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct derived_text text = {
		.bytes = data + 1,
		.size = size - 1,
		.vaddr = 0x1000,
		.is_function = is_function,
		.fate = fate,
		.read = read_constants,
		.next_reference = next_reference,
		.context = &text,
	};
	const struct derived_rule *found;
	struct derived_rules *rules;
	uint8_t *ruled;
	size_t nr;

	if (!size)
		return 0;
	rules = derived_rules_new(&text);
	for (size_t i = 0; i < 8; i++) {
		if (data[0] >> i & 1)
			derived_rules_add_entry(rules, i * i * 4);
	}
	derived_rules_find(rules);
	found = derived_rules_get(rules, &nr);
	ruled = calloc(size, 1);
	for (size_t i = 0; i < nr; i++) {
		for (uint32_t at = found[i].start; at < found[i].end; at++) {
			if (at >= text.size || ruled[at]++)
				abort();
		}
	}
	free(ruled);
	derived_rules_free(rules);
	build_table(data + 1, size - 1);
	return 0;
}
