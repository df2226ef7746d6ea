/* A check costs little: it reads one small file of /proc. */
#include "cli/service/memory_watch.h"

#include "core/base/log.h"
#include "core/rights/memory_shares.h"
#include "core/profile/facts.h"
#include "core/profile/source.h"

#define LOOK_NS (1000ull * 1000 * 1000)
#define LEAST_FORGET_NS (10 * LOOK_NS)

void memory_watch_begin(const struct memory_watch *w)
{
	if (w->shares && !w->ops->kernel_memory)
		log_warning("--max-memory does not limit unwind rows: source %s keeps them all",
			    w->ops->name);
}

static uint64_t bytes_now(const struct memory_watch *w)
{
	uint64_t bytes = memory_own_bytes();

	return w->ops->kernel_memory ? bytes + w->ops->kernel_memory(w->source) : bytes;
}

static void tell(struct memory_watch *w, struct sink *sink)
{
	static const char text[] = "the recorder took more than --max-memory leaves it: it forgot "
				   "stacks that it knew, or will at the next segment";
	const struct fact_limit row = {
		.limit = LIMIT_OWN_SUM,
		.count = ++w->nr_over,
		.text = sink_cstring(sink, text),
	};

	if (w->nr_over == 1)
		log_warning("the recorder takes %.1f MB, more than --max-memory leaves it",
			    (double)w->bytes / 1e6);
	sink->fact(sink, FACT_LIMIT, &row);
}

void memory_watch_round(struct memory_watch *w, struct sink *sink, uint64_t now_ns)
{
	if (!w->shares || now_ns < w->next_ns)
		return;
	w->next_ns = now_ns + LOOK_NS;
	w->bytes = bytes_now(w);
	if (w->bytes <= w->shares->limit - w->shares->parser - w->shares->namer)
		return;
	w->is_over = true;
	tell(w, sink);
}

bool memory_watch_forget(struct memory_watch *w, bool is_large, uint64_t now_ns)
{
	if (!w->shares || (!is_large && !w->is_over) ||
	    (w->forgot_ns && now_ns - w->forgot_ns < LEAST_FORGET_NS))
		return false;
	w->is_over = false;
	w->forgot_ns = now_ns;
	return true;
}
