/* An incident begins when a trigger fires, and lasts longer if one fires again. */
#include "cli/continuous/incident.h"

#include "cli/service/rate_control.h"
#include "cli/triggers/trigger_opts.h"
#include "cli/triggers/triggers.h"
#include "core/base/clock.h"
#include "core/base/log.h"

void incident_init(struct incident *i)
{
	i->usual_hz = i->rate->hz;
	if (i->triggers && !rate_control_can(i->rate))
		log_warning("this source cannot change its rate: when a trigger fires, segments "
			    "are kept and marked, and samples come as before");
}

static void set_rate(struct incident *i, uint32_t freq_hz, enum rate_reason reason,
		     struct sink *sink)
{
	int err = rate_control_can(i->rate) ? rate_control_want(i->rate, freq_hz, reason, sink) : 0;

	if (err)
		log_error(-err, "sample at %u Hz", freq_hz);
}

const char *incident_poll(struct incident *i, struct sink *sink, uint64_t now_ns)
{
	const char *fired = triggers_poll(i->triggers, now_ns);

	if (!fired)
		return NULL;
	if (!i->until_ns)
		i->since_ns = boottime_ns();
	i->until_ns = now_ns + i->opts->for_ns;
	set_rate(i, i->opts->freq_hz, RATE_TRIGGERED, sink);
	return fired;
}

bool incident_ends(struct incident *i, struct sink *sink, uint64_t now_ns)
{
	if (!i->until_ns || now_ns < i->until_ns)
		return false;
	i->until_ns = 0;
	set_rate(i, i->usual_hz, RATE_CALM, sink);
	return true;
}
