/*
 * A request as bytes: a line of text for each field, an empty line, then the body. What is read may
 * be damaged, or come from a process that a hostile recording took over, so the characters of the
 * query are checked.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "core/base/alloc.h"
#include "output/push/receiver.h"
#include "output/push/spool.h"

#define FIRST_LINE "sprof push 1\n"
#define QUERY_MAX 32768 /* bytes */

void push_request_encode(const struct push_request *r, struct buffer *b)
{
	buffer_printf(b, FIRST_LINE "%s\n%llu\n%llu\n%s\n\n", r->receiver->name,
		      (unsigned long long)r->nr_samples, (unsigned long long)r->time_ns,
		      r->query ? r->query : "");
	buffer_add(b, r->body.data, r->body.size);
}

/* Takes a line off; NULL: there is none. */
static const char *take_line(const char **at, const char *end, size_t max, size_t *ret_size)
{
	size_t left = (size_t)(end - *at);
	const char *line = *at, *newline = memchr(line, '\n', left < max + 1 ? left : max + 1);

	if (!newline)
		return NULL;
	*ret_size = (size_t)(newline - line);
	*at = newline + 1;
	return line;
}

static bool take_number(const char **at, const char *end, uint64_t *ret_number)
{
	size_t size;
	const char *line = take_line(at, end, 20, &size);
	uint64_t n = 0;

	for (size_t i = 0; line && i < size; i++)
		if (!isdigit((unsigned char)line[i]) || __builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, (uint64_t)(line[i] - '0'), &n))
			return false;
	*ret_number = n;
	return line && size;
}

static bool query_is_valid(const char *query, size_t size)
{
	if (size && *query != '?')
		return false;
	for (size_t i = 0; i < size; i++)
		if (!query[i] ||
		    (!isalnum((unsigned char)query[i]) && !strchr("?%&=._~-", query[i])))
			return false;
	return true;
}

int push_request_decode(const void *bytes, size_t bytes_size, struct push_request *ret_request)
{
	const size_t n = sizeof(FIRST_LINE) - 1;
	const char *at = bytes, *end = at + bytes_size, *line;
	struct push_request r = { 0 };
	size_t size;

	if (bytes_size < n || memcmp(at, FIRST_LINE, n))
		return -EBADMSG;
	at += n;
	line = take_line(&at, end, 64, &size);
	r.receiver = line ? receiver_find(line, size) : NULL;
	if (!r.receiver || !take_number(&at, end, &r.nr_samples) ||
	    !take_number(&at, end, &r.time_ns))
		return -EBADMSG;
	line = take_line(&at, end, QUERY_MAX, &size);
	if (!line || !query_is_valid(line, size) || at == end || *at != '\n')
		return -EBADMSG;
	r.query = size ? xasprintf("%.*s", (int)size, line) : NULL;
	buffer_add(&r.body, at + 1, (size_t)(end - at - 1));
	*ret_request = r;
	return 0;
}
