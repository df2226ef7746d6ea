/*
 * The engines that sprof pushes profiles to. Each is one const struct receiver in receiver_NAME.c;
 * receivers.c lists them. A receiver makes the bodies of requests and reads answers; http_post.h
 * carries them.
 */
#ifndef SPROF_RECEIVER_H
#define SPROF_RECEIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "core/base/buffer.h"

struct push_set;

/* One POST. It says nothing of where the receiver is. */
struct push_request {
	const struct receiver *receiver;
	char *query; /* goes behind the path of the URL: "?name=..."; or NULL */
	struct buffer body;
	uint64_t nr_samples; /* in it */
	uint64_t time_ns;    /* Unix time at which its profile begins; 0 = unknown */
};

static inline void push_request_fini(struct push_request *request)
{
	free(request->query);
	buffer_fini(&request->body);
}

struct receiver {
	const char *name;	/* for --receiver, and for URLs: "parca+http://..." */
	const char *help;	/* half a line */
	const char *path;	/* of its requests, where a URL has none */
	uint16_t port;		/* where it usually listens; 0: as another one */
	const char *headers[4]; /* of each request, ends with NULL */
	bool grpc;		/* its requests are calls of gRPC, its bodies messages, gzipped */
	size_t max_bytes;	/* a larger request is refused, before compression; 0: any size */
	/*
	 * Makes requests of a set and hands each to emit(), which takes it over. 0, or what emit()
	 * returned, or, before it was called, -EMSGSIZE: a request would have more than max_bytes.
	 */
	int (*make)(const struct push_set *set,
		    int (*emit)(void *context, struct push_request *request), void *context);
	/*
	 * Looks into the answer to a request that was taken: returns how many profiles or samples
	 * it refused all the same, and appends why. NULL: it takes all or nothing.
	 */
	uint64_t (*rejected)(const void *answer, size_t size, struct buffer *ret_why);
	/* Appends what a refusal says, not cleaned, if it is not in plain text. NULL: it is. */
	void (*reason)(const void *answer, size_t size, struct buffer *ret_why);
};

extern const struct receiver receiver_otlp, receiver_otlp_grpc, receiver_parca, receiver_pyroscope,
	receiver_pyroscope_ingest;

/* Ends with NULL. */
extern const struct receiver *const receiver_table[];

/* The receiver of that name, or NULL. */
const struct receiver *receiver_find(const char *name, size_t size);
/* Appends the names of all receivers, for a message: "otlp, pyroscope, ...". */
void receiver_add_names(struct buffer *b);

/* Where to push. */
struct push_url {
	const struct receiver *receiver;
	char *url; /* what libcurl gets: grpc:// is http:// there */
	bool encrypted;
	bool loopback; /* its host is this machine */
};

/*
 * Takes a URL of the command line: "http://host:4040", "parca+https://host/path", "grpc://host",
 * and "grpcs://host" with TLS. `receiver` is what the user asked for, or NULL: then the scheme, the
 * path and the port tell. NULL, or what is wrong with the URL, as a clause that the caller frees.
 */
char *push_url_parse(const char *text, const struct receiver *receiver, struct push_url *ret_url);
void push_url_fini(struct push_url *url);

#endif
