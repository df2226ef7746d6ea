/* Rules by machine code. The first byte says where functions are said to begin; the rest is the text. */
#include <stdlib.h>

#include "sampler/code_rules.h"

static bool is_function(void *context, uint64_t vaddr)
{
	(void)context;
	return vaddr & 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct code_text text = { data + 1, size - 1, 0x1000, is_function, NULL };
	const struct code_rule *found;
	struct code_rules *rules;
	uint8_t *ruled;
	size_t nr;

	if (!size)
		return 0;
	rules = code_rules_new(&text);
	for (size_t i = 0; i < 8; i++) {
		if (data[0] >> i & 1)
			code_rules_add_entry(rules, i * i * 4);
	}
	code_rules_find(rules);
	found = code_rules_get(rules, &nr);
	ruled = calloc(size, 1);
	for (size_t i = 0; i < nr; i++) {
		for (uint32_t at = found[i].start; at < found[i].end; at++) {
			if (at >= text.size || ruled[at]++)
				abort();
		}
	}
	free(ruled);
	code_rules_free(rules);
	return 0;
}
