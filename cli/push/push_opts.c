/*
 * Secrets come from files or the environment, never from the command line, which every user of the
 * machine can read.
 */
#include "cli/push/push_opts.h"

#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options/byte_size.h"
#include "cli/options/duration.h"
#include "cli/push/http_headers.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "output/push/pusher.h"

#define SPOOL_MIN (64u << 10) /* bytes */
#define MAX_NS (3600 * NS_PER_S)

enum {
	OPT_RECEIVER = 0x700,
	OPT_LABEL,
	OPT_TOKEN_FILE,
	OPT_HEADER_FILE,
	OPT_CA_FILE,
	OPT_SPOOL,
	OPT_SPOOL_SIZE,
	OPT_PUSH_TIMEOUT,
	OPT_RETRY,
};

static const struct argp_option options[] = {
	{ "receiver", OPT_RECEIVER, "otlp|otlp-grpc|pyroscope|pyroscope-ingest|parca", 0,
	  "What listens at URL (default: by its scheme, path or port)", 0 },
	{ "label", OPT_LABEL, "KEY=VALUE", 0,
	  "A label of all that is pushed: service, version, or a name of your own; may be given "
	  "more than once",
	  0 },
	{ "token-file", OPT_TOKEN_FILE, "FILE", 0,
	  "Holds the token for 'Authorization: Bearer' (or else $SPROF_PUSH_TOKEN)", 0 },
	{ "header-file", OPT_HEADER_FILE, "FILE", 0,
	  "Holds further headers, a line each: X-Scope-OrgID: team", 0 },
	{ "ca-file", OPT_CA_FILE, "FILE", 0,
	  "Certificates to trust, in place of the system's (PEM)", 0 },
	{ "spool", OPT_SPOOL, "DIR", 0,
	  "Keep here what cannot be sent; the next push with this folder sends it", 0 },
	{ "spool-size", OPT_SPOOL_SIZE, "SIZE", 0,
	  "Let the spool take at most that much; the oldest goes first (default: 100M)", 0 },
	{ "push-timeout", OPT_PUSH_TIMEOUT, "TIME", 0,
	  "Give up a request after this time (default: 10s)", 0 },
	{ "retry", OPT_RETRY, "TIME", 0,
	  "Go on trying for this time if the receiver is down or busy (default: 30s)", 0 },
	{ 0 }
};

static uint32_t parse_ms(const char *text, struct argp_state *state)
{
	uint64_t ns = 0;

	if (!duration_read(text, &ns) || ns > MAX_NS)
		argp_error(state, "'%s' is not a time of at most 1h, such as 10s, 500ms", text);
	return (uint32_t)(ns / NS_PER_MS);
}

static uint64_t parse_size(const char *text, struct argp_state *state)
{
	uint64_t bytes = byte_size_parse(text);

	if (bytes < SPOOL_MIN)
		argp_error(state, "'%s' is not a size of at least 64K, such as 100M, 2G", text);
	return bytes;
}

static void parse_receiver(const char *name, struct push_opts *o, struct argp_state *state)
{
	struct buffer names = { 0 };

	o->receiver = receiver_find(name, strlen(name));
	if (o->receiver)
		return;
	receiver_add_names(&names);
	argp_error(state, "there is no receiver '%s', only %s", name, buffer_cstring(&names));
	buffer_fini(&names);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct push_opts *o = state->input;
	const char *wrong;

	switch (key) {
	case OPT_RECEIVER: parse_receiver(arg, o, state); break;
	case OPT_LABEL:
		wrong = push_labels_take(&o->labels, arg);
		if (wrong)
			argp_error(state, "'%s' is no label: %s", arg, wrong);
		break;
	case OPT_TOKEN_FILE: o->token_file = arg; break;
	case OPT_HEADER_FILE: o->header_file = arg; break;
	case OPT_CA_FILE: o->ca_file = arg; break;
	case OPT_SPOOL: o->spool = arg; break;
	case OPT_SPOOL_SIZE: o->spool_bytes = parse_size(arg, state); break;
	case OPT_PUSH_TIMEOUT:
		o->timeout_ms = parse_ms(arg, state);
		if (!o->timeout_ms)
			argp_error(state, "--push-timeout 0 leaves no time for a request");
		break;
	case OPT_RETRY: o->retry_ms = parse_ms(arg, state); break;
	default: return ARGP_ERR_UNKNOWN;
	}
	o->given = true;
	return 0;
}

const struct argp push_opts_argp = { .options = options, .parser = parse };

void push_opts_set_url(struct push_opts *o, const char *url, struct argp_state *state)
{
	char *wrong = push_url_parse(url, o->receiver, &o->url);

	/* The URL may hold a password, so it is not repeated. */
	if (wrong)
		argp_error(state, "cannot push to that URL: %s", wrong);
	free(wrong);
}

/* Warns of a token that is sent unencrypted. */
static void warn_of_plain_token(const struct push_opts *o, const struct http_headers *headers)
{
	if (headers->secret && !o->url.encrypted && !o->url.loopback)
		log_warning("the token goes to '%.*s' unencrypted: use https://",
			    (int)strcspn(o->url.url, "?"), o->url.url);
}

int push_opts_open(const struct push_opts *o, struct pusher **ret_pusher)
{
	struct http_headers headers = { 0 };
	struct pusher_config config = {
		.url = &o->url,
		.ca_file = o->ca_file,
		.spool = o->spool,
		.spool_bytes = o->spool_bytes,
		.timeout_ms = o->timeout_ms,
		.retry_ms = o->retry_ms,
	};
	int err = http_headers_read(&headers, o->token_file, o->header_file);

	if (!err) {
		config.headers = (const char *const *)headers.list;
		warn_of_plain_token(o, &headers);
		err = pusher_open(&config, ret_pusher);
	}
	http_headers_fini(&headers);
	return err;
}

void push_opts_fini(struct push_opts *o)
{
	push_url_fini(&o->url);
	push_labels_fini(&o->labels);
}
