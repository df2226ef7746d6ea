/* One table of names serves the option, the reports and JSON. */
#include "core/profile/gpu_kinds.h"

#include <stddef.h>
#include <string.h>

#include "core/base/buffer.h"
#include "core/profile/facts.h"
#include "core/profile/profile.h"

static const struct {
	const char *name;
	uint64_t kind;
} names[] = {
	{ "kernels", GPU_KIND_KERNELS },   { "copies", GPU_KIND_COPIES },
	{ "fills", GPU_KIND_FILLS },	   { "waits", GPU_KIND_WAITS },
	{ "memory", GPU_KIND_MEMORY },	   { "ranges", GPU_KIND_RANGES },
	{ "graphs", GPU_KIND_GRAPHS },	   { "launches", GPU_KIND_LAUNCHES },
	{ "overhead", GPU_KIND_OVERHEAD }, { "flops", GPU_KIND_FLOPS },
};
#define NR_NAMES (sizeof(names) / sizeof(*names))

static uint64_t find(const char *name, size_t length)
{
	for (size_t i = 0; i < NR_NAMES; i++)
		if (strlen(names[i].name) == length && !memcmp(names[i].name, name, length))
			return names[i].kind;
	return 0;
}

bool gpu_kinds_parse(const char *text, uint64_t *ret_kinds)
{
	uint64_t kinds = *text == '-' ? GPU_KINDS_DEFAULT : 0;

	for (;;) {
		bool less = *text == '-';
		size_t length;
		uint64_t kind;

		text += less;
		length = strcspn(text, ",");
		kind = length == 3 && !memcmp(text, "all", 3) && !less ? GPU_KINDS_DEFAULT
								       : find(text, length);
		if (!kind)
			return false;
		kinds = less ? kinds & ~kind : kinds | kind;
		if (!text[length])
			break;
		text += length + 1;
	}
	if (kinds)
		*ret_kinds = kinds;
	return kinds;
}

static void add_names(struct buffer *b, uint64_t kinds, const char *quote)
{
	const char *separator = "";

	for (size_t i = 0; i < NR_NAMES; i++) {
		if (!(kinds & names[i].kind))
			continue;
		buffer_printf(b, "%s%s%s%s", separator, quote, names[i].name, quote);
		separator = ", ";
	}
}

void gpu_kinds_add(struct buffer *b, uint64_t kinds)
{
	add_names(b, kinds, "");
}

void gpu_kinds_add_json(struct buffer *b, uint64_t kinds)
{
	buffer_add_char(b, '[');
	add_names(b, kinds, "\"");
	buffer_add_char(b, ']');
}

uint64_t gpu_kinds_not_collected(const struct profile *p)
{
	const struct fact_gpu_collected *c;
	uint64_t collected = 0;
	size_t nr;

	c = facts_rows(p, FACT_GPU_COLLECTED, &nr);
	for (size_t i = 0; i < nr; i++)
		collected |= c[i].kinds;
	if (!nr)
		return 0;
	if (collected & GPU_KIND_KERNELS) /* collecting kernels also shows launches, and graphs */
		collected |= GPU_KIND_LAUNCHES | GPU_KIND_GRAPHS;
	return GPU_KINDS_ALL & ~collected;
}
