/*
 * Each header is checked before it is sent: a line end in it could begin another header, or another
 * request.
 */
#include "cli/push/http_headers.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/base/text_file.h"
#include "core/rights/safe_open.h"

#define FILE_MAX (64u << 10) /* bytes */
#define TOKEN_VARIABLE "SPROF_PUSH_TOKEN"

/* 0 or -errno, reported. */
static int read_file(const char *path, char **ret_text, size_t *ret_size)
{
	int fd = safe_open(path, FILE_MAX);
	int err = fd < 0 ? fd : text_file_read(fd, FILE_MAX, ret_text, ret_size);

	if (err)
		log_error(err == -EPERM ? 0 : -err, "read '%s'%s", path,
			  err == -EPERM ? ": it is no regular file" : "");
	return err;
}

static bool is_printable(const char *s)
{
	for (; *s; s++)
		if (((unsigned char)*s < ' ' && *s != '\t') || *s == 0x7f)
			return false;
	return true;
}

static void trim(char **text)
{
	size_t n;

	while (isspace((unsigned char)**text))
		++*text;
	for (n = strlen(*text); n && isspace((unsigned char)(*text)[n - 1]);)
		(*text)[--n] = '\0';
}

static void add(struct http_headers *h, char *header)
{
	h->list[h->nr++] = header;
}

static int add_token(struct http_headers *h, char *text, const char *where)
{
	trim(&text);
	if (!*text || !is_printable(text) || strpbrk(text, " \t")) {
		log_error(0, "use the token of '%s': it is %s", where,
			  *text ? "no single word" : "empty");
		return -EINVAL;
	}
	add(h, xasprintf("Authorization: Bearer %s", text));
	h->secret = true;
	return 0;
}

static int read_token(struct http_headers *h, const char *path)
{
	const char *variable = getenv(TOKEN_VARIABLE);
	char *text = NULL;
	size_t size;
	int err = 0;

	if (path)
		err = read_file(path, &text, &size);
	else if (variable && *variable)
		text = xstrdup(variable);
	if (!err && text && path && strlen(text) != size)
		err = -EINVAL;
	if (!err && text)
		err = add_token(h, text, path ? path : TOKEN_VARIABLE);
	if (text)
		explicit_bzero(text, strlen(text));
	free(text);
	return err;
}

/* Is the line a name as in RFC 9110, a colon and a value? */
static bool is_header(const char *line)
{
	size_t n = strcspn(line, ":");

	if (!n || line[n] != ':' || !is_printable(line))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)line[i]) && !strchr("!#$%&'*+-.^_`|~", line[i]))
			return false;
	return true;
}

static bool is_secret(const char *line)
{
	return !strncasecmp(line, "authorization:", 14) || !strncasecmp(line, "cookie:", 7) ||
	       strcasestr(line, "token") || strcasestr(line, "key");
}

static int read_headers(struct http_headers *h, const char *path)
{
	char *text, *rest, *line;
	unsigned int number = 0;
	size_t size;
	int err = read_file(path, &text, &size);

	if (err)
		return err;
	for (rest = text; !err && (line = strsep(&rest, "\n"));) {
		number++;
		trim(&line);
		if (!*line || *line == '#')
			continue;
		if (!is_header(line) || h->nr == HTTP_HEADERS_MAX) {
			log_error(0, "read line %u of '%s': %s", number, path,
				  h->nr == HTTP_HEADERS_MAX ? "there are too many headers"
							    : "it is not 'Name: value'");
			err = -EINVAL;
			break;
		}
		h->secret |= is_secret(line);
		add(h, xstrdup(line));
	}
	explicit_bzero(text, size);
	free(text);
	return err;
}

int http_headers_read(struct http_headers *h, const char *token_file, const char *header_file)
{
	int err = read_token(h, token_file);

	return err || !header_file ? err : read_headers(h, header_file);
}

void http_headers_fini(struct http_headers *h)
{
	for (size_t i = 0; i < h->nr; i++) {
		explicit_bzero(h->list[i], strlen(h->list[i]));
		free(h->list[i]);
	}
	h->nr = 0;
}
