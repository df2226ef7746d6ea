// BUILD: cli/triggers/trigger_spec.c cli/options/duration.c cli/options/byte_size.c cli/options/whole_number.c
/* Reads any text as what --trigger says. What is accepted makes sense, and means the same again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/triggers/trigger_spec.h"
#include "core/base/alloc.h"

#define HOUR_NS 3600000000000ull

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int differ(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) : a != b;
}

static void check(const struct trigger_spec *s)
{
	struct trigger_specs again = { 0 };
	const struct trigger_spec *same = again.list;

	if ((s->kind == TRIGGER_OOM) != !s->limit || s->for_ns > HOUR_NS || s->pid < 0 ||
	    (s->cgroup && (s->cgroup[0] != '/' || s->pid)))
		abort();
	if (trigger_specs_add(&again, s->text) || again.nr != 1 || same->kind != s->kind ||
	    same->pid != s->pid || differ(same->cgroup, s->cgroup) || same->limit != s->limit ||
	    same->for_ns != s->for_ns || same->pressure != s->pressure || same->full != s->full)
		abort();
	trigger_specs_fini(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct trigger_specs specs = { 0 };
	char *text = xmalloc(size + 1);
	const char *wrong;

	memcpy(text, data, size);
	text[size] = '\0';
	for (int i = 0; i < 3; i++) { /* the option may be given again */
		wrong = trigger_specs_add(&specs, text);
		if (specs.nr > MAX_TRIGGERS || (wrong && !*wrong))
			abort();
		if (wrong)
			break;
		for (size_t k = 0; k < specs.nr; k++)
			check(&specs.list[k]);
	}
	trigger_specs_fini(&specs);
	free(text);
	return 0;
}
