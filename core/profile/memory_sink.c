/* Each hook calls the function of profile.h with the same name. */
#include "core/profile/source.h"

#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/profile/column.h"

struct profile_sink {
	struct sink sink; /* first: the hooks cast back */
	struct profile *p;
};

static struct profile *profile_of(struct sink *sink)
{
	return ((struct profile_sink *)sink)->p;
}

static uint32_t sink_string(struct sink *sink, const char *s, size_t length)
{
	return profile_string(profile_of(sink), s, length);
}

static uint32_t sink_module(struct sink *sink, const struct profile_module *module)
{
	return profile_module(profile_of(sink), module);
}

static uint32_t sink_thread(struct sink *sink, uint32_t pid, uint32_t tid, uint32_t comm)
{
	return profile_thread(profile_of(sink), pid, tid, comm);
}

static uint32_t sink_frame(struct sink *sink, uint32_t module, uint64_t address)
{
	struct profile *p = profile_of(sink);

	return p->modules[module].kind == MODULE_PYTHON ? profile_python_frame(p, module, address)
							: profile_frame(p, module, address);
}

static uint32_t sink_stack(struct sink *sink, const uint32_t *frames, size_t nr)
{
	return profile_stack(profile_of(sink), frames, nr);
}

static void sink_sample(struct sink *sink, const struct profile_sample *sample)
{
	profile_add_sample(profile_of(sink), sample);
}

static void sink_fact(struct sink *sink, enum fact_kind kind, const void *row)
{
	facts_put(profile_of(sink), kind, row);
	if (kind == FACT_EVENT)
		column_name_event(profile_of(sink), row);
}

struct sink *profile_sink_new(struct profile *p)
{
	struct profile_sink *s = xcalloc(1, sizeof(*s));

	s->p = p;
	s->sink = (struct sink){
		.string = sink_string,
		.module = sink_module,
		.thread = sink_thread,
		.frame = sink_frame,
		.stack = sink_stack,
		.sample = sink_sample,
		.fact = sink_fact,
	};
	return &s->sink;
}

void profile_sink_free(struct sink *sink)
{
	free(sink);
}
