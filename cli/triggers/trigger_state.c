/* A trigger that has fired can fire again after CALM_NS below nine tenths of the limit. */
#include "cli/triggers/trigger_state.h"

#define CALM_NS (30ull * 1000 * 1000 * 1000)

/* Points are a sixteenth of the span apart, so that the oldest one is as old as the span. */
bool growth_add(struct growth *g, uint64_t now_ns, uint64_t value, uint64_t span_ns,
		uint64_t *ret_ppm)
{
	size_t last = (g->nr - 1) % GROWTH_POINTS,
	       i = g->nr > GROWTH_POINTS ? g->nr - GROWTH_POINTS : 0;
	size_t from = SIZE_MAX;

	for (; i < g->nr && g->time_ns[i % GROWTH_POINTS] + span_ns <= now_ns; i++)
		from = i % GROWTH_POINTS; /* the latest point that is at least span_ns old */
	g->grown = g->elapsed_ns = 0;
	if (g->nr) {
		size_t since = from == SIZE_MAX ? 0 : from; /* nothing was overwritten yet */

		g->grown = value > g->value[since] ? value - g->value[since] : 0;
		g->elapsed_ns = now_ns - g->time_ns[since];
	}
	if (from != SIZE_MAX)
		*ret_ppm = (uint64_t)((double)g->grown * 1e6 / (double)g->elapsed_ns);
	if (!g->nr || now_ns - g->time_ns[last] >= span_ns / (GROWTH_POINTS - 1)) {
		g->time_ns[g->nr % GROWTH_POINTS] = now_ns;
		g->value[g->nr % GROWTH_POINTS] = value;
		g->nr++;
	}
	return from != SIZE_MAX;
}

static bool fire(struct trigger_state *s)
{
	if (s->has_fired)
		return false;
	s->has_fired = true;
	s->below_since_ns = 0;
	return true;
}

static void calm_down(struct trigger_state *s, uint64_t now_ns)
{
	if (!s->below_since_ns)
		s->below_since_ns = now_ns;
	if (now_ns - s->below_since_ns >= CALM_NS)
		s->has_fired = false;
}

bool trigger_measured(struct trigger_state *s, uint64_t value, uint64_t limit, uint64_t for_ns,
		      uint64_t now_ns)
{
	if (value > limit) {
		s->below_since_ns = 0;
		if (!s->over_since_ns)
			s->over_since_ns = now_ns;
		return now_ns - s->over_since_ns >= for_ns && fire(s);
	}
	s->over_since_ns = 0;
	if (value <= limit / 10 * 9)
		calm_down(s, now_ns);
	else
		s->below_since_ns = 0;
	return false;
}

bool trigger_happened(struct trigger_state *s, bool happened, uint64_t now_ns)
{
	if (happened) {
		s->below_since_ns = 0;
		return fire(s);
	}
	calm_down(s, now_ns);
	return false;
}
