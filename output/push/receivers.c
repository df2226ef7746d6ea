/*
 * The table of receivers, and how a URL tells which one it is. Of two receivers with one port the
 * first in the table is meant.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/alloc.h"
#include "output/push/receiver.h"

#define URL_MAX 2048 /* bytes */

const struct receiver *const receiver_table[] = {
	&receiver_otlp,	     &receiver_otlp_grpc,
	&receiver_pyroscope, &receiver_pyroscope_ingest,
	&receiver_parca,     NULL,
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

/* The parts of "http://host:port/path". */
struct parts {
	const char *host;
	size_t host_size; /* without the port */
	size_t authority_size;
	const char *port; /* digits, or "" */
	const char *path; /* with its "/", or "" */
};

static const char *split(const char *at, struct parts *ret)
{
	size_t authority = strcspn(at, "/"), port;
	struct parts p = { .host = at, .authority_size = authority, .path = at + authority };
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

/* The schemes of URLs, and what libcurl calls them. */
struct scheme {
	const char *name, *real;
	bool encrypted, grpc;
	const char *port; /* where there is none; NULL: as libcurl has it */
};

static const struct scheme schemes[] = {
	{ "http://", "http://", false, false, NULL },
	{ "https://", "https://", true, false, NULL },
	{ "grpc://", "http://", false, true, ":4317" },
	{ "grpcs://", "https://", true, true, NULL },
};

static const struct scheme *scheme_of(const char *text)
{
	for (size_t i = 0; i < sizeof(schemes) / sizeof(*schemes); i++)
		if (!strncasecmp(text, schemes[i].name, strlen(schemes[i].name)))
			return &schemes[i];
	return NULL;
}

/* A URL without a path gets the usual one; behind it stays the query that the user has there. */
static char *real_url(const struct scheme *scheme, const struct parts *p, const struct receiver *r)
{
	size_t path = strcspn(p->path, "?"), rest = path <= 1 ? path : 0;

	return xasprintf("%s%.*s%s%s%s", scheme->real, (int)p->authority_size, p->host,
			 *p->port || !scheme->port ? "" : scheme->port,
			 rest || !path ? r->path : "", p->path + rest);
}

char *push_url_parse(const char *text, const struct receiver *receiver, struct push_url *ret_url)
{
	struct push_url url = { 0 };
	const struct scheme *scheme;
	const char *at, *wrong;
	struct parts parts;

	if (strlen(text) > URL_MAX || !is_clean(text))
		return xstrdup("it is too long, or has characters that URLs do not have");
	at = take_receiver(text, &receiver);
	if (!at)
		return which();
	scheme = scheme_of(at);
	if (!scheme)
		return xstrdup("it begins with none of http://, https://, grpc://, grpcs://");
	wrong = split(at + strlen(scheme->name), &parts);
	if (wrong)
		return xstrdup(wrong);
	if (scheme->grpc)
		receiver = receiver ? receiver : &receiver_otlp_grpc;
	url.receiver = receiver ? receiver : guess(&parts);
	if (!url.receiver)
		return which();
	if (scheme->grpc && !url.receiver->grpc)
		return xasprintf("%s is not reached by gRPC, only otlp-grpc is",
				 url.receiver->name);
	url.encrypted = scheme->encrypted;
	url.loopback = is_loopback(&parts);
	url.url = real_url(scheme, &parts, url.receiver);
	*ret_url = url;
	return NULL;
}

void push_url_fini(struct push_url *url)
{
	free(url->url);
	url->url = NULL;
}
