/* HTTP headers that the user adds to each request: a token, a tenant. */
#ifndef SPROF_HTTP_HEADERS_H
#define SPROF_HTTP_HEADERS_H

#include <stdbool.h>
#include <stddef.h>

#define HTTP_HEADERS_MAX 32

struct http_headers {
	char *list[HTTP_HEADERS_MAX + 1]; /* "Name: value"; ends with NULL */
	size_t nr;
	bool secret; /* one of them is a token or a password */
};

/*
 * Reads the token, from its file or else from $SPROF_PUSH_TOKEN, and the file of headers; either
 * file may be NULL. 0 or -errno, reported; messages do not show what the files hold.
 */
int http_headers_read(struct http_headers *headers, const char *token_file,
		      const char *header_file);
void http_headers_fini(struct http_headers *headers);

#endif
