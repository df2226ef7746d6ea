/*
 * Sends requests and decides what becomes of them. An answer is one of four things: taken; try
 * again (429, 5xx, no connection); refused for what the request is, which no other try changes; or
 * refused for how it was sent (no token, wrong path), which is worth keeping until the user has
 * corrected that.
 */
#include "output/push/pusher.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "output/push/grpc.h"
#include "output/push/http_post.h"
#include "output/push/receiver.h"
#include "output/push/spool.h"
#include "output/text/text.h"

#define FIRST_WAIT_MS 500
#define LONGEST_WAIT_MS 10000
#define REASON_COLUMNS 200

enum outcome { TAKEN, AGAIN, BAD_REQUEST, BAD_SETTINGS };

struct pusher {
	struct http *http;
	const struct receiver *receiver;
	char *url; /* for messages, without its query */
	struct spool *spool;
	uint32_t retry_ms;
	void (*wait)(void *context, uint32_t ms);
	void *wait_context;
	struct pusher_stats stats;
	char *last_error;	/* what was reported last, or NULL, */
	int last_status;	/* and its status */
	uint64_t not_before_ns; /* the receiver asked for that pause; CLOCK_MONOTONIC */
};

static void sleep_ms(void *context, uint32_t ms)
{
	struct timespec t = { ms / 1000, (long)(ms % 1000) * 1000000 };

	(void)context;
	nanosleep(&t, NULL);
}

int pusher_open(const struct pusher_config *c, struct pusher **ret_pusher)
{
	const struct http_config http = { .url = c->url->url,
					  .headers = c->headers,
					  .ca_file = c->ca_file,
					  .timeout_ms = c->timeout_ms,
					  .grpc = c->url->receiver->grpc };
	const struct spool_limits limits = { .bytes = c->spool_bytes };
	struct pusher *p = xcalloc(1, sizeof(*p));
	int err = http_open(&http, &p->http);

	p->receiver = c->url->receiver;
	p->url = xasprintf("%.*s", (int)strcspn(c->url->url, "?"), c->url->url);
	p->retry_ms = c->retry_ms;
	p->wait = c->wait ? c->wait : sleep_ms;
	p->wait_context = c->wait_context;
	if (!err && c->spool)
		err = spool_open(c->spool, &limits, &p->spool);
	if (err) {
		pusher_close(p);
		return err;
	}
	*ret_pusher = p;
	return 0;
}

void pusher_close(struct pusher *p)
{
	if (!p)
		return;
	http_close(p->http);
	spool_close(p->spool);
	free(p->url);
	free(p->last_error);
	free(p);
}

/* As https://opentelemetry.io/docs/specs/otlp/#failures has it for OTLP over gRPC. */
static enum outcome outcome_of_grpc(const struct http_answer *a)
{
	switch (a->grpc_status) {
	case GRPC_OK: return TAKEN;
	case GRPC_CANCELLED:
	case GRPC_DEADLINE_EXCEEDED:
	case GRPC_ABORTED:
	case GRPC_OUT_OF_RANGE:
	case GRPC_UNAVAILABLE:
	case GRPC_DATA_LOSS: return AGAIN;
	case GRPC_RESOURCE_EXHAUSTED: return a->retry_after_s ? AGAIN : BAD_REQUEST;
	case GRPC_UNKNOWN:
	case GRPC_INVALID_ARGUMENT:
	case GRPC_ALREADY_EXISTS:
	case GRPC_FAILED_PRECONDITION:
	case GRPC_INTERNAL: return BAD_REQUEST;
	default: return BAD_SETTINGS; /* the call is wrong, or the other end speaks no gRPC */
	}
}

static enum outcome outcome_of(const struct pusher *p, const struct http_answer *a)
{
	switch (a->status) {
	case 0: return a->never ? BAD_SETTINGS : AGAIN;
	case 200 ... 299: return p->receiver->grpc ? outcome_of_grpc(a) : TAKEN;
	case 400:
	case 413:
	case 415:
	case 422: return BAD_REQUEST;
	case 408:
	case 425:
	case 429:
	case 500 ... 599: return AGAIN;
	default: return BAD_SETTINGS;
	}
}

/* The first line of a text that may hold anything, short enough for a message. */
static void add_first_line(struct buffer *b, const char *text, size_t size)
{
	struct buffer clean = { 0 };
	size_t begin = 0, end;

	while (begin < size && strchr(" \t\r\n", text[begin]) && text[begin])
		begin++;
	for (end = begin; end < size && text[end] != '\n' && text[end] != '\r';)
		end++;
	text_add_clean(&clean, text + begin, end - begin);
	buffer_add(b, clean.data, text_head(clean.data, clean.size, REASON_COLUMNS));
	buffer_fini(&clean);
}

static char *describe_grpc(const struct http_answer *a)
{
	struct buffer b = { 0 };
	char *text;

	if (a->grpc_status == GRPC_NONE)
		return xstrdup("its answer has no status of gRPC");
	buffer_printf(&b, "it answers %s", grpc_status_name(a->grpc_status));
	if (*a->error) {
		buffer_add_string(&b, ": ");
		add_first_line(&b, a->error, strlen(a->error));
	}
	text = xstrdup(buffer_cstring(&b));
	buffer_fini(&b);
	return text;
}

static char *describe(const struct pusher *p, const struct http_answer *a)
{
	struct buffer b = { 0 }, reason = { 0 };
	char *text;

	if (!a->status)
		return xstrdup(a->error);
	if (p->receiver->grpc && a->status / 100 == 2)
		return describe_grpc(a);
	if (p->receiver->reason)
		p->receiver->reason(a->body.data, a->body.size, &reason);
	buffer_printf(&b, "it answers %d", a->status);
	if (a->status / 100 == 3)
		buffer_add_string(&b, ", a redirection, which is not followed");
	if (reason.size || a->body.size) {
		buffer_add_string(&b, ": ");
		if (reason.size)
			add_first_line(&b, reason.data, reason.size);
		else
			add_first_line(&b, a->body.data, a->body.size);
	}
	text = xstrdup(buffer_cstring(&b));
	buffer_fini(&b);
	buffer_fini(&reason);
	return text;
}

/*
 * Texts that differ in numbers alone say the same: libcurl tells after how many milliseconds a
 * connection was refused, and receivers count requests.
 */
static bool same_but_numbers(const char *a, const char *b)
{
	for (;; a++, b++) {
		a += strspn(a, "0123456789");
		b += strspn(b, "0123456789");
		if (*a != *b)
			return false;
		if (!*a)
			return true;
	}
}

/* Reports an error once in a row: a receiver that is down for an hour is one message. */
static void report(struct pusher *p, const struct http_answer *a)
{
	char *text = describe(p, a);

	if (!p->last_error || p->last_status != a->status ||
	    !same_but_numbers(p->last_error, text)) {
		log_error(0, "push to '%s': %s", p->url, text);
		if (a->status == 401 || a->status == 403 ||
		    a->grpc_status == GRPC_UNAUTHENTICATED ||
		    a->grpc_status == GRPC_PERMISSION_DENIED)
			log_hint("--token-file FILE holds the token that the receiver wants");
		else if (a->status == 404)
			log_hint("--receiver NAME says what listens there; the path is of its URL");
		else if (a->grpc_status == GRPC_UNIMPLEMENTED)
			log_hint("an OpenTelemetry Collector takes profiles with "
				 "--feature-gates service.profilesSupport");
	}
	free(p->last_error);
	p->last_error = text;
	p->last_status = a->status;
}

static void report_rejected(struct pusher *p, const struct http_answer *a)
{
	struct buffer why = { 0 }, line = { 0 };
	uint64_t nr =
		p->receiver->rejected ? p->receiver->rejected(a->body.data, a->body.size, &why) : 0;

	p->stats.nr_rejected += nr;
	add_first_line(&line, why.data, why.size);
	if (nr || line.size)
		log_warning("'%s' left out %llu profiles%s%s", p->url, (unsigned long long)nr,
			    line.size ? ": " : "", buffer_cstring(&line));
	buffer_fini(&why);
	buffer_fini(&line);
}

static enum outcome try_once(struct pusher *p, const struct push_request *r, uint32_t *ret_after_ms)
{
	struct http_answer a;
	enum outcome outcome;

	http_post(p->http, r->query, r->receiver->headers, r->body.data, r->body.size, &a);
	outcome = outcome_of(p, &a);
	if (outcome == TAKEN) {
		report_rejected(p, &a);
		free(p->last_error);
		p->last_error = NULL;
		p->stats.nr_sent++;
		p->stats.sent_samples += r->nr_samples;
		p->stats.sent_bytes += r->body.size;
	} else {
		report(p, &a);
	}
	*ret_after_ms = a.retry_after_s * 1000;
	buffer_fini(&a.body);
	return outcome;
}

/* Between half of `ms` and all of it, so that a thousand hosts do not come back at once. */
static uint32_t jitter(uint32_t ms)
{
	uint32_t random = 0;

	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0)
		random = (uint32_t)monotonic_ns();
	return ms / 2 + random % (ms / 2 + 1);
}

/* Tries until the time for it is over. */
static enum outcome send(struct pusher *p, const struct push_request *r, uint32_t retry_ms)
{
	uint64_t end = monotonic_ns() + retry_ms * 1000000ull, waited = 0;
	uint32_t pause = FIRST_WAIT_MS;
	enum outcome outcome;

	if (monotonic_ns() < p->not_before_ns && !retry_ms)
		return AGAIN;
	for (;;) {
		uint32_t after, wait;

		outcome = try_once(p, r, &after);
		if (outcome != AGAIN)
			return outcome;
		wait = jitter(pause);
		wait = after > wait ? after : wait;
		if (after)
			p->not_before_ns = monotonic_ns() + after * 1000000ull;
		if (monotonic_ns() + wait * 1000000ull > end || waited + wait > retry_ms)
			return AGAIN;
		p->wait(p->wait_context, wait);
		waited += wait;
		pause = pause * 2 < LONGEST_WAIT_MS ? pause * 2 : LONGEST_WAIT_MS;
	}
}

static void lose(struct pusher *p, const struct push_request *r)
{
	p->stats.nr_lost++;
	p->stats.lost_samples += r->nr_samples;
}

/* Returns whether the receiver takes requests. */
static bool send_spool(struct pusher *p, uint32_t retry_ms)
{
	struct push_request r;
	bool works = true;

	if (!p->spool || !spool_lock(p->spool))
		return true;
	spool_rewind(p->spool);
	while (works && spool_next(p->spool, &r)) {
		/* a request to another receiver stays until something is pushed to that one */
		enum outcome o = r.receiver == p->receiver ? send(p, &r, retry_ms) : BAD_SETTINGS;

		if (o == TAKEN || o == BAD_REQUEST)
			spool_remove(p->spool);
		if (o == BAD_REQUEST)
			lose(p, &r);
		works = o == TAKEN || o == BAD_REQUEST || r.receiver != p->receiver;
		push_request_fini(&r);
	}
	spool_unlock(p->spool);
	return works;
}

void pusher_send_spool(struct pusher *p)
{
	send_spool(p, p->retry_ms);
}

void pusher_send(struct pusher *p, struct push_request *r)
{
	enum outcome o = send_spool(p, p->retry_ms) ? send(p, r, p->retry_ms) : AGAIN;

	if (o == TAKEN)
		return;
	if (o == BAD_REQUEST || !p->spool || spool_add(p->spool, r)) {
		if (o == BAD_REQUEST || !p->spool)
			lose(p, r);
		return;
	}
	p->stats.nr_kept++;
	p->stats.kept_samples += r->nr_samples;
}

void pusher_stats(struct pusher *p, struct pusher_stats *ret_stats)
{
	struct spool_stats spool = { 0 };

	*ret_stats = p->stats;
	if (!p->spool)
		return;
	spool_stats(p->spool, &spool);
	ret_stats->nr_waiting = spool.nr_requests;
	ret_stats->nr_lost += spool.nr_dropped;
	ret_stats->lost_samples += spool.dropped_samples;
}
