/* Headers of HTTP that the user adds to each request: a token, a tenant. */
#ifndef SPROF_HTTP_HEADERS_H
#define SPROF_HTTP_HEADERS_H

#include <stdbool.h>
#include <stddef.h>

#define HTTP_HEADERS_MAX 32

struct http_headers {
	char *list[HTTP_HEADERS_MAX + 1]; /* "Name: value"; ends with NULL */
	size_t nr;
	bool secret; /* one of them proves who asks */
};

/*
 * Reads a token, from the file or, without one, from $SPROF_PUSH_TOKEN, and the lines of the file
 * of headers; either may be NULL. 0 or -errno, reported; no message shows what the files hold.
 */
int http_headers_read(struct http_headers *headers, const char *token_file,
		      const char *header_file);
void http_headers_fini(struct http_headers *headers);

#endif
