/*
 * HTTP POST requests to one URL, through libcurl; or calls of gRPC, which are such requests too.
 * The other end is not trusted: what it may send is limited in size and time, and no redirection is
 * followed, as that would hand the token and the profile to whatever the answer names.
 */
#ifndef SPROF_HTTP_POST_H
#define SPROF_HTTP_POST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buffer.h"

struct http;

struct http_config {
	const char *url;
	const char *const *headers; /* "Name: value", ends with NULL; of every request */
	const char *ca_file;	    /* PEM certificates to trust, or NULL: those of the system */
	uint32_t timeout_ms;	    /* of one request, with its answer */
	bool grpc;		    /* HTTP/2, also without TLS, and the answer has a gRPC status */
};

/* What became of a request. */
struct http_answer {
	int status;		/* of HTTP; 0: there was none, and `error` says why */
	int grpc_status;	/* enum grpc_status; its reason is in `error` */
	uint32_t retry_after_s; /* what the header Retry-After asks for; 0: nothing */
	struct buffer body;	/* its first bytes, as they came */
	char error[256];	/* clean text */
	bool never;		/* without an answer: another try would end as this one did */
};

/* Copies the config. 0 or -errno, reported: also where this libcurl has no HTTP/2 for gRPC. */
int http_open(const struct http_config *config, struct http **ret_http);
void http_close(struct http *http); /* NULL is fine */

/*
 * Sends a body, or a message of gRPC, gzipped, with further headers (an array that ends with NULL,
 * or NULL). `query` goes behind the URL, or is NULL. The caller frees ret_answer->body.
 */
void http_post(struct http *http, const char *query, const char *const *headers, const void *body,
	       size_t size, struct http_answer *ret_answer);

#endif
