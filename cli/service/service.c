/* NOTIFY_SOCKET in the environment turns the service manager's part on, --metrics the counters. */
#include "cli/service/service.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/service/metrics_server.h"
#include "cli/service/metrics_text.h"
#include "cli/service/notify.h"
#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/base/log.h"

#define STATUS_NS (10ull * 1000 * 1000 * 1000)

struct service {
	struct notify notify;
	struct metrics_server *metrics;
	uint64_t status_ns; /* when the next status is due */
	service_count *count;
	void *context;
};

static int open_metrics(struct service *s, const char *address)
{
	int err = metrics_server_new(address, &s->metrics);

	if (err == -EINVAL) {
		log_error(0, "serve metrics at '%s': it is no ADDRESS:PORT", address);
		log_hint("--metrics 9464 is a port of 127.0.0.1, --metrics 0.0.0.0:9464 one of all "
			 "addresses");
	} else if (err) {
		log_error(-err, "serve metrics at '%s'", address);
	} else {
		log_info("metrics are served at port %u, /metrics",
			 metrics_server_port(s->metrics));
	}
	return err;
}

int service_new(const char *metrics, struct service **ret)
{
	struct service *s = xcalloc(1, sizeof(*s));
	int err = metrics ? open_metrics(s, metrics) : 0;

	notify_init(&s->notify);
	if (err)
		service_free(s);
	else
		*ret = s;
	return err;
}

void service_free(struct service *s)
{
	if (!s)
		return;
	notify_fini(&s->notify);
	metrics_server_free(s->metrics);
	free(s);
}

void service_ready(struct service *s)
{
	notify_send(&s->notify, "READY=1\nSTATUS=Sampling");
}

void service_stopping(struct service *s)
{
	notify_send(&s->notify, "STOPPING=1\nSTATUS=Finishing the recording");
}

static void send_status(struct service *s)
{
	struct recorder_counters c = { 0 };
	char text[200];

	s->count(s->context, &c);
	snprintf(text, sizeof(text),
		 "STATUS=Sampling at %" PRIu32 " Hz: %" PRIu64 " samples, %" PRIu64
		 " lost, %" PRIu64 " bytes written",
		 c.freq_hz, c.stats.nr_samples, c.nr_lost, c.written_bytes);
	notify_send(&s->notify, text);
}

static void write_metrics(void *context, struct buffer *b)
{
	struct service *s = context;
	struct recorder_counters c = { 0 };

	s->count(s->context, &c);
	metrics_text_add(b, &c);
}

void service_round(struct service *s, uint64_t now_ns, service_count *count, void *context)
{
	s->count = count;
	s->context = context;
	notify_round(&s->notify, now_ns);
	if (notify_is_on(&s->notify) && now_ns >= s->status_ns) {
		s->status_ns = now_ns + STATUS_NS;
		send_status(s);
	}
	metrics_server_round(s->metrics, now_ns, write_metrics, s);
}
