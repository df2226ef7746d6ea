/* Losses are warnings, which -q does not show; the exit status tells of them in any case. */
#include "cli/push/push_summary.h"

#include <errno.h>
#include <string.h>

#include "cli/push/push_opts.h"
#include "core/base/log.h"
#include "output/push/pusher.h"

int push_summary(const struct push_opts *o, struct pusher *pusher)
{
	int url = (int)strcspn(o->url.url, "?");
	struct pusher_stats s;

	pusher_stats(pusher, &s);
	if (s.nr_sent)
		log_info("pushed %llu samples in %llu requests, %.1f kB, to %.*s",
			 (unsigned long long)s.sent_samples, (unsigned long long)s.nr_sent,
			 (double)s.sent_bytes / 1e3, url, o->url.url);
	if (s.nr_waiting)
		log_warning("%llu samples could not be sent now; '%s' keeps %llu requests",
			    (unsigned long long)s.kept_samples, o->spool,
			    (unsigned long long)s.nr_waiting);
	if (s.nr_lost)
		log_warning("%llu samples in %llu requests are lost: neither sent nor kept",
			    (unsigned long long)s.lost_samples, (unsigned long long)s.nr_lost);
	return s.nr_lost || s.nr_rejected ? -EIO : s.nr_waiting ? -EAGAIN : 0;
}
