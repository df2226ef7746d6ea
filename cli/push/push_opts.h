/* The options for pushing that sprof push and sprof record share. */
#ifndef SPROF_PUSH_OPTS_H
#define SPROF_PUSH_OPTS_H

#include <stdint.h>

#include "output/push/push_labels.h"
#include "output/push/receiver.h"

struct argp;
struct argp_state;
struct pusher;

struct push_opts {
	const struct receiver *receiver; /* of --receiver, or NULL */
	struct push_url url;		 /* url.url is NULL if nothing is pushed */
	struct push_labels labels;
	const char *token_file, *header_file, *ca_file, *spool;
	uint64_t spool_bytes;
	uint32_t timeout_ms, retry_ms;
	bool given; /* one of these options was */
};

#define PUSH_OPTS_DEFAULT                                                                          \
	{                                                                                          \
		.spool_bytes = 100u << 20, .timeout_ms = 10000, .retry_ms = 30000,                 \
	}

/* Its input is a struct push_opts. */
extern const struct argp push_opts_argp;

/* Parses the URL, once all options are known; ends the program if it is wrong. */
void push_opts_set_url(struct push_opts *opts, const char *url, struct argp_state *state);

/* Reads the files of tokens and headers, and makes a pusher. 0 or -errno, reported. */
int push_opts_open(const struct push_opts *opts, struct pusher **ret_pusher);

void push_opts_fini(struct push_opts *opts);

#endif
