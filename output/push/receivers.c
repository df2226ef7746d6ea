/*
 * The table of receivers, and how a URL tells which one it is. Of two receivers with one port the
 * first in the table is meant.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/alloc.h"
#include "output/push/receiver.h"

#define URL_MAX 2048 /* bytes */

const struct receiver *const receiver_table[] = {
	&receiver_otlp, &receiver_pyroscope, &receiver_pyroscope_ingest, &receiver_parca, NULL,
};

const struct receiver *receiver_find(const char *name, size_t size)
{
	for (const struct receiver *const *r = receiver_table; *r; r++)
		if (strlen((*r)->name) == size && !memcmp((*r)->name, name, size))
			return *r;
	return NULL;
}

void receiver_add_names(struct buffer *b)
{
	for (const struct receiver *const *r = receiver_table; *r; r++)
		buffer_printf(b, "%s%s", r == receiver_table ? "" : ", ", (*r)->name);
}

/* ---- URLs */

/* The parts of "http://host:port/path". */
struct parts {
	const char *host;
	size_t host_size; /* without the port */
	const char *port; /* digits, or "" */
	const char *path; /* with its "/", or "" */
};

static const char *split(const char *at, struct parts *ret)
{
	size_t authority = strcspn(at, "/"), port;
	struct parts p = { .host = at, .path = at + authority };
	const char *colon = NULL;

	if (memchr(at, '@', authority))
		return "it holds a user or a password, which every user of this machine can see: "
		       "use --token-file or --header-file";
	if (*at == '[')
		colon = memchr(at, ']', authority);
	colon = memchr(colon ? colon : at, ':', authority - (size_t)(colon ? colon - at : 0));
	p.host_size = colon ? (size_t)(colon - at) : authority;
	p.port = colon ? colon + 1 : "";
	port = colon ? (size_t)(at + authority - p.port) : 0;
	if (!p.host_size)
		return "it names no host";
	if (colon && (!port || port > 5 || strspn(p.port, "0123456789") != port))
		return "its port is no number";
	if (strchr(p.path, '#'))
		return "it has a fragment, which is not sent";
	*ret = p;
	return NULL;
}

static bool has_path(const struct receiver *r, const char *path)
{
	size_t n = strlen(r->path), m = strcspn(path, "?");

	return m >= n && !memcmp(path + m - n, r->path, n);
}

static const struct receiver *guess(const struct parts *p)
{
	unsigned long port = strtoul(p->port, NULL, 10);

	for (const struct receiver *const *r = receiver_table; *r; r++)
		if (has_path(*r, p->path))
			return *r;
	for (const struct receiver *const *r = receiver_table; *r; r++)
		if (port && (*r)->port == port)
			return *r;
	return NULL;
}

static bool is_loopback(const struct parts *p)
{
	static const char *const hosts[] = { "localhost", "127.0.0.1", "[::1]" };

	for (size_t i = 0; i < sizeof(hosts) / sizeof(*hosts); i++)
		if (p->host_size == strlen(hosts[i]) &&
		    !strncasecmp(p->host, hosts[i], p->host_size))
			return true;
	return false;
}

static char *which(void)
{
	struct buffer b = { 0 };
	char *why;

	buffer_add_string(&b, "which receiver is it? say --receiver NAME, one of ");
	receiver_add_names(&b);
	why = xstrdup(buffer_cstring(&b));
	buffer_fini(&b);
	return why;
}

/* Takes "parca+" off; NULL: there is no such receiver. */
static const char *take_receiver(const char *text, const struct receiver **receiver)
{
	const char *plus = text + strcspn(text, "+:/");
	const struct receiver *r;

	if (*plus != '+')
		return text;
	r = receiver_find(text, (size_t)(plus - text));
	*receiver = r ? r : *receiver;
	return r ? plus + 1 : NULL;
}

static bool is_clean(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text <= ' ' || (unsigned char)*text >= 0x7f || *text == '\\')
			return false;
	return true;
}

char *push_url_parse(const char *text, const struct receiver *receiver, struct push_url *ret_url)
{
	struct push_url url = { 0 };
	struct parts parts;
	const char *at, *wrong;
	size_t path;

	if (strlen(text) > URL_MAX || !is_clean(text))
		return xstrdup("it is too long, or has characters that URLs do not have");
	at = take_receiver(text, &receiver);
	if (!at)
		return which();
	url.encrypted = !strncasecmp(at, "https://", 8);
	if (!url.encrypted && strncasecmp(at, "http://", 7))
		return xstrdup("it begins with neither http:// nor https://");
	wrong = split(at + (url.encrypted ? 8 : 7), &parts);
	if (wrong)
		return xstrdup(wrong);
	url.receiver = receiver ? receiver : guess(&parts);
	if (!url.receiver)
		return which();
	url.loopback = is_loopback(&parts);
	path = strcspn(parts.path, "?");
	if (path <= 1) /* "" or "/": the usual path, and behind it what the user has there */
		url.url = xasprintf("%.*s%s%s", (int)(parts.path - at), at, url.receiver->path,
				    parts.path + path);
	else
		url.url = xstrdup(at);
	*ret_url = url;
	return NULL;
}

void push_url_fini(struct push_url *url)
{
	free(url->url);
	url->url = NULL;
}
