/* Each is told once for a process, however often its modules are looked at. */
#include "sampler/alloc/unhooked.h"

#include <string.h>

#include "core/base/log.h"
#include "core/profile/facts.h"
#include "core/profile/process_end.h"
#include "core/profile/source.h"
#include "sampler/alloc/alloc_target.h"

#define PYTHONS "Python's objects of up to 512 bytes"

void unhooked_say(const struct alloc_target *t, size_t from)
{
	for (size_t i = from; i < t->hooks.nr_left_out; i++)
		log_warning("process %d: what %s of '%s' does is not counted: %s", (int)t->pid,
			    t->hooks.left_out[i].function->name,
			    t->hooks.left_out[i].function->path, t->hooks.left_out[i].why);
	if (t->python_why)
		log_warning("process %d: " PYTHONS " are not counted: %s", (int)t->pid,
			    t->python_why);
}

static void tell(const struct alloc_target *t, const char *name, const char *path, const char *why,
		 struct sink *sink)
{
	const struct fact_memory_unhooked fact = {
		.pid = (uint64_t)t->pid,
		.name = sink->string(sink, name, strlen(name)),
		.path = sink->string(sink, path, strlen(path)),
		.why = sink->string(sink, why, strlen(why)),
	};

	sink->fact(sink, FACT_MEMORY_UNHOOKED, &fact);
}

void unhooked_tell(struct alloc_target *t, struct sink *sink)
{
	for (; t->nr_told < t->hooks.nr_left_out; t->nr_told++) {
		const struct left_out *l = &t->hooks.left_out[t->nr_told];

		tell(t, l->function->name, l->function->path, l->why, sink);
	}
	if (t->python_why && !t->is_python_told)
		tell(t, PYTHONS, "", t->python_why, sink);
	t->is_python_told = t->python_why != NULL;
}
