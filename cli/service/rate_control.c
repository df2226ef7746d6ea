/* The source weights each sample by its rate, so the rate can change at any time. */
#include "cli/service/rate_control.h"

#include <errno.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/profile/source.h"
#include "core/rights/privileges.h"

#define LOOK_NS (2000ull * 1000 * 1000)

bool rate_control_can(const struct rate_control *r)
{
	return r->parts.ops->set_rate;
}

static int set(struct rate_control *r, struct fact_rate *row, struct sink *sink)
{
	enum rights before;
	int err;

	if (!rate_control_can(r))
		return -ENOTSUP;
	if (row->freq_hz == r->hz)
		return 0;
	before = privileges_use(RIGHTS_BORROWED);
	err = r->parts.ops->set_rate(r->source, (uint32_t)row->freq_hz);
	privileges_use(before);
	if (err)
		return err;
	r->hz = (uint32_t)row->freq_hz;
	row->time_ns = monotonic_ns();
	sink->fact(sink, FACT_RATE, row);
	return 0;
}

int rate_control_want(struct rate_control *r, uint32_t freq_hz, enum rate_reason reason,
		      struct sink *sink)
{
	bool is_limited = r->hz < r->wanted_hz; /* then only the limit may raise it */
	struct fact_rate row = {
		.freq_hz = is_limited && r->hz < freq_hz ? r->hz : freq_hz,
		.reason = reason,
	};
	int err = freq_hz == r->wanted_hz ? 0 : set(r, &row, sink);

	if (!err)
		r->wanted_hz = freq_hz;
	return err;
}

void rate_control_begin(struct rate_control *r, uint64_t now_ns)
{
	if (!r->limit_ppm)
		return;
	if (!rate_control_can(r)) {
		log_warning("--max-overhead does not limit CPU samples: source %s cannot change "
			    "its rate",
			    r->parts.ops->name);
		return;
	}
	own_cost_read(&r->parts, &r->cost);
	if (!r->cost.kernel_known) {
		log_warning("--max-overhead does not see what BPF programs cost: counting that "
			    "takes CAP_SYS_ADMIN");
		log_hint("sudo sysctl kernel.bpf_stats_enabled=1 has the kernel count for all");
	}
	rate_governor_begin(&r->governor, r->limit_ppm, now_ns, r->cost.cpu_ns + r->cost.kernel_ns);
	r->next_ns = now_ns + LOOK_NS;
	r->is_begun = true;
}

static void say(struct rate_control *r, uint32_t ppm)
{
	if (r->said_helpless || !rate_governor_is_helpless(&r->governor, r->hz))
		return;
	log_warning("recording costs %.2f%% of a CPU at 1 Hz, more than --max-overhead: what it "
		    "costs does not come from sampling",
		    ppm / 1e4);
	r->said_helpless = true;
}

void rate_control_round(struct rate_control *r, struct sink *sink, uint64_t now_ns)
{
	struct fact_rate row = { .limit_ppm = r->limit_ppm };
	uint32_t ppm = 0;
	int err;

	if (!r->is_begun || now_ns < r->next_ns)
		return;
	r->next_ns = now_ns + LOOK_NS;
	own_cost_read(&r->parts, &r->cost);
	row.freq_hz = rate_governor_step(&r->governor, now_ns, r->cost.cpu_ns + r->cost.kernel_ns,
					 r->hz, r->wanted_hz, &ppm);
	row.reason = row.freq_hz < r->hz ? RATE_OVER_LIMIT : RATE_IN_LIMIT;
	row.cost_ppm = ppm;
	say(r, ppm);
	if (row.freq_hz == r->hz)
		return;
	log_info("recording costs %.2f%% of a CPU (--max-overhead: %.2f%%): %u Hz instead of %u",
		 ppm / 1e4, r->limit_ppm / 1e4, (unsigned int)row.freq_hz, r->hz);
	err = set(r, &row, sink);
	if (err)
		log_error(-err, "sample at %u Hz", (unsigned int)row.freq_hz);
}
