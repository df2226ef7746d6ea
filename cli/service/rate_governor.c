/*
 * The rate is lowered at once, by the factor that the cost is over the limit; it is raised after
 * ten seconds, to below the limit, so that it does not swing.
 */
#include "cli/service/rate_governor.h"

#define NS_PER_S 1e9
#define CREDIT_S 10	 /* largest balance, in seconds of what is allowed */
#define DEBT_S 60	 /* largest debt, likewise */
#define LOOK_BACK_S 60	 /* over which the cost is measured */
#define RAISE_AFTER_S 10 /* since the last change */
#define MAX_STEP 4

void rate_governor_begin(struct rate_governor *g, uint32_t limit_ppm, uint64_t now_ns,
			 uint64_t cost_ns)
{
	*g = (struct rate_governor){
		.limit_ppm = limit_ppm,
		.ns = now_ns,
		.cost_ns = cost_ns,
		.since_ns = now_ns,
		.since_cost_ns = cost_ns,
		.changed_ns = now_ns,
		.account_ns = CREDIT_S * NS_PER_S * limit_ppm / 1e6,
	};
}

static void keep_account(struct rate_governor *g, uint64_t now_ns, uint64_t cost_ns)
{
	double allowed_per_s = NS_PER_S * g->limit_ppm / 1e6;

	g->account_ns += (double)(now_ns - g->ns) * g->limit_ppm / 1e6;
	if (cost_ns > g->cost_ns) {
		g->account_ns -= (double)(cost_ns - g->cost_ns);
		g->cost_ns = cost_ns;
	}
	g->ns = now_ns;
	if (g->account_ns > CREDIT_S * allowed_per_s)
		g->account_ns = CREDIT_S * allowed_per_s;
	if (g->account_ns < -DEBT_S * allowed_per_s)
		g->account_ns = -DEBT_S * allowed_per_s;
}

static uint32_t scaled(uint32_t hz, double factor, uint32_t wanted_hz)
{
	double to = hz * factor;

	return to < 1 ? 1 : to > wanted_hz ? wanted_hz : (uint32_t)to;
}

static uint32_t choose(const struct rate_governor *g, double share_ppm, uint32_t hz,
		       uint32_t wanted_hz)
{
	double over = share_ppm / g->limit_ppm;
	bool is_settled = g->ns - g->changed_ns >= RAISE_AFTER_S * (uint64_t)NS_PER_S;

	if (hz > wanted_hz)
		return wanted_hz;
	if (g->account_ns < 0 && over > 1)
		return scaled(hz, over < MAX_STEP * 0.8 ? 0.8 / over : 1. / MAX_STEP, wanted_hz);
	/* A rate of 1 grows by 1 at least, though its factor may round down. */
	if (hz < wanted_hz && g->account_ns >= 0 && over < 0.7 && is_settled)
		return scaled(hz, over > 0.45 ? 0.9 / over : 2, wanted_hz) + (hz == 1);
	return hz;
}

uint32_t rate_governor_step(struct rate_governor *g, uint64_t now_ns, uint64_t cost_ns, uint32_t hz,
			    uint32_t wanted_hz, uint32_t *ret_ppm)
{
	double share_ppm = 0;
	uint32_t to;

	if (now_ns <= g->since_ns)
		return hz;
	keep_account(g, now_ns, cost_ns);
	share_ppm = (double)(g->cost_ns - g->since_cost_ns) * 1e6 / (double)(now_ns - g->since_ns);
	*ret_ppm = share_ppm < UINT32_MAX ? (uint32_t)share_ppm : UINT32_MAX;
	to = choose(g, share_ppm, hz, wanted_hz);
	if (to > wanted_hz)
		to = wanted_hz;
	if (to != hz)
		g->changed_ns = now_ns;
	if (to != hz || now_ns - g->since_ns >= LOOK_BACK_S * (uint64_t)NS_PER_S) {
		g->since_ns = now_ns;
		g->since_cost_ns = g->cost_ns;
	}
	return to;
}

bool rate_governor_is_helpless(const struct rate_governor *g, uint32_t hz)
{
	return hz == 1 && g->account_ns < -(DEBT_S / 2) * NS_PER_S * g->limit_ppm / 1e6;
}
