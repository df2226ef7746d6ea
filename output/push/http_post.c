/*
 * Sends requests with one easy handle, so that the connection is kept between them. Of the
 * environment and the user's files, libcurl reads only the settings of proxies.
 */
#include "output/push/http_post.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/alloc.h"
#include "core/base/clean_text.h"
#include "core/base/log.h"
#include "output/push/curl_library.h"
#include "output/push/grpc.h"

#define CONNECT_MS 5000
#define BODY_KEPT 4096		/* bytes of an answer that are looked at */
#define BODY_MAX (1u << 20)	/* bytes after which an answer is cut off */
#define HEADERS_MAX (64u << 10) /* bytes, likewise */
#define RETRY_AFTER_MAX_S 86400

/* CURLOPT_PROTOCOLS and its bits, which newer headers mark as deprecated. */
#define OPTION_PROTOCOLS ((CURLoption)181)
#define PROTOCOLS_HTTP 3L /* http and https */

struct http {
	struct curl_library library;
	CURL *handle;
	char *url, *ca_file;
	char **headers;
	uint32_t timeout_ms;
	bool grpc;
};

/* What arrives while a request is under way. */
struct arrival {
	struct http_answer *answer;
	size_t body_size, headers_size;
	bool too_much, grpc;
	struct grpc_trailers trailers;
};

/* 0 or -errno, reported. */
static int check_http2(const struct curl_library *l)
{
	const curl_version_info_data *v = l->version_info(CURLVERSION_NOW);

	if (v->features & CURL_VERSION_HTTP2)
		return 0;
	log_error(0, "push by gRPC: libcurl %s has no HTTP/2", v->version);
	log_hint("the receiver otlp sends the same by HTTP/1.1, mostly to port 4318");
	return -EPROTONOSUPPORT;
}

int http_open(const struct http_config *config, struct http **ret_http)
{
	struct http *h = xcalloc(1, sizeof(*h));
	size_t nr = 0;
	int err = curl_library_load(&h->library);

	if (!err && config->grpc)
		err = check_http2(&h->library);
	if (!err) {
		h->handle = h->library.easy_init();
		err = h->handle ? 0 : -ENOMEM;
		if (err)
			log_error(ENOMEM, "start libcurl");
	}
	if (err) {
		free(h);
		return err;
	}
	while (config->headers && config->headers[nr])
		nr++;
	h->headers = xcalloc(nr + 1, sizeof(*h->headers));
	while (nr--)
		h->headers[nr] = xstrdup(config->headers[nr]);
	h->url = xstrdup(config->url);
	h->ca_file = config->ca_file ? xstrdup(config->ca_file) : NULL;
	h->timeout_ms = config->timeout_ms;
	h->grpc = config->grpc;
	*ret_http = h;
	return 0;
}

void http_close(struct http *h)
{
	if (!h)
		return;
	h->library.easy_cleanup(h->handle);
	for (char **header = h->headers; *header; header++) {
		explicit_bzero(*header, strlen(*header)); /* perhaps a token */
		free(*header);
	}
	free(h->headers);
	free(h->url);
	free(h->ca_file);
	free(h);
}

/* Other results than the size end the request. */
static size_t on_body(char *data, size_t one, size_t size, void *context)
{
	struct arrival *a = context;
	struct buffer *kept = &a->answer->body;

	(void)one;
	a->body_size += size;
	a->too_much |= a->body_size > BODY_MAX;
	if (kept->size < BODY_KEPT)
		buffer_add(kept, data,
			   size < BODY_KEPT - kept->size ? size : BODY_KEPT - kept->size);
	return a->too_much ? 0 : size;
}

/* Seconds are understood, dates are not: receivers send seconds. */
static void take_retry_after(struct http_answer *answer, const char *line, size_t size)
{
	static const char name[] = "retry-after:";
	size_t at = sizeof(name) - 1;
	uint32_t seconds = 0;

	if (size < at || strncasecmp(line, name, at))
		return;
	while (at < size && line[at] == ' ')
		at++;
	for (; at < size && line[at] >= '0' && line[at] <= '9'; at++)
		if (seconds < RETRY_AFTER_MAX_S)
			seconds = seconds * 10 + (uint32_t)(line[at] - '0');
	answer->retry_after_s = seconds < RETRY_AFTER_MAX_S ? seconds : RETRY_AFTER_MAX_S;
}

static size_t on_header(char *line, size_t one, size_t size, void *context)
{
	struct arrival *a = context;

	(void)one;
	a->headers_size += size;
	a->too_much |= a->headers_size > HEADERS_MAX;
	take_retry_after(a->answer, line, size);
	if (a->grpc)
		grpc_take_header(&a->trailers, line, size);
	return a->too_much ? 0 : size;
}

static struct curl_slist *header_list(struct http *h, const char *const *more)
{
	struct curl_slist *list = h->library.slist_append(NULL, "Expect:"); /* do not wait for it */

	for (char **own = h->headers; *own; own++)
		list = h->library.slist_append(list, *own);
	for (; more && *more; more++)
		list = h->library.slist_append(list, *more);
	return list;
}

static void set_options(struct http *h, const char *url, struct curl_slist *headers,
			struct arrival *arrival, char *error)
{
	CURLcode (*set)(CURL * handle, CURLoption option, ...) = h->library.easy_setopt;
	CURL *c = h->handle;

	h->library.easy_reset(c);
	/* To be set before the URL. A library that knows only one of the two refuses the other. */
	set(c, OPTION_PROTOCOLS, PROTOCOLS_HTTP);
	set(c, CURLOPT_PROTOCOLS_STR, "http,https");
	set(c, CURLOPT_FOLLOWLOCATION, 0L);
	set(c, CURLOPT_URL, url);
	set(c, CURLOPT_POST, 1L);
	set(c, CURLOPT_HTTPHEADER, headers);
	set(c, CURLOPT_HEADEROPT, (long)CURLHEADER_SEPARATE); /* a proxy gets no token */
	set(c, CURLOPT_USERAGENT, "sprof/" SPROF_VERSION);
	set(c, CURLOPT_NOSIGNAL, 1L);
	set(c, CURLOPT_ERRORBUFFER, error);
	set(c, CURLOPT_CONNECTTIMEOUT_MS,
	    (long)(h->timeout_ms < CONNECT_MS ? h->timeout_ms : CONNECT_MS));
	set(c, CURLOPT_TIMEOUT_MS, (long)h->timeout_ms);
	set(c, CURLOPT_WRITEFUNCTION, on_body);
	set(c, CURLOPT_WRITEDATA, arrival);
	set(c, CURLOPT_HEADERFUNCTION, on_header);
	set(c, CURLOPT_HEADERDATA, arrival);
	if (h->ca_file)
		set(c, CURLOPT_CAINFO, h->ca_file);
	if (h->grpc) {
		set(c, CURLOPT_HTTP_VERSION,
		    strncasecmp(url, "https:", 6) ? (long)CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE
						  : (long)CURL_HTTP_VERSION_2TLS);
		set(c, CURLOPT_HTTPPROXYTUNNEL, 1L); /* proxies must pass HTTP/2 on as it is */
		/* libcurl 7.88 fails in the second call of a connection without TLS. */
		set(c, CURLOPT_FORBID_REUSE, 1L);
	}
}

static void set_error(struct http_answer *answer, const char *text, size_t size)
{
	struct buffer clean = { 0 };

	text_add_clean(&clean, text, size);
	snprintf(answer->error, sizeof(answer->error), "%s", buffer_cstring(&clean));
	buffer_fini(&clean);
}

/* Errors that lie in the request or in this machine's settings. */
static bool is_hopeless(CURLcode code)
{
	switch (code) {
	case CURLE_UNSUPPORTED_PROTOCOL:
	case CURLE_URL_MALFORMAT:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_PEER_FAILED_VERIFICATION: return true;
	default: return false;
	}
}

/* Fills in the answer to a request, as far as HTTP tells. */
static void take_result(struct http *h, CURLcode code, const char *error, struct arrival *arrival)
{
	struct http_answer *answer = arrival->answer;
	/* An answer that was cut off still counts: its status is known. */
	bool answered = !code || arrival->too_much || arrival->trailers.status != GRPC_NONE;
	long status = 0;

	h->library.easy_getinfo(h->handle, CURLINFO_RESPONSE_CODE, &status);
	if (answered && status)
		answer->status = (int)status;
	else if (arrival->too_much)
		error = "the headers of its answer do not end";
	else if (!*error)
		error = h->library.easy_strerror(code);
	if (!answer->status)
		set_error(answer, error, strlen(error));
	answer->never = code && is_hopeless(code);
}

/* Adds what gRPC tells. Its answers are all of HTTP/2 and have a status of their own. */
static void take_grpc_result(struct http *h, struct arrival *arrival)
{
	static const char no_http2[] = "it speaks no HTTP/2, which gRPC needs";
	struct http_answer *answer = arrival->answer;
	long version = 0;

	answer->grpc_status = arrival->trailers.status;
	if (arrival->trailers.retry_after_s)
		answer->retry_after_s = arrival->trailers.retry_after_s;
	set_error(answer, arrival->trailers.message.data, arrival->trailers.message.size);
	grpc_unwrap(&answer->body);
	h->library.easy_getinfo(h->handle, CURLINFO_HTTP_VERSION, &version);
	if (version == CURL_HTTP_VERSION_2_0)
		return;
	answer->status = 0;
	answer->grpc_status = GRPC_NONE;
	set_error(answer, no_http2, strlen(no_http2));
}

static void perform(struct http *h, const char *url, struct curl_slist *list, const void *body,
		    size_t size, struct http_answer *answer)
{
	struct arrival arrival = { .answer = answer,
				   .grpc = h->grpc,
				   .trailers = { .status = GRPC_NONE } };
	char error[CURL_ERROR_SIZE] = "";
	struct buffer message = { 0 };

	if (h->grpc) {
		grpc_add_message(&message, body, size);
		body = message.data;
		size = message.size;
	}
	set_options(h, url, list, &arrival, error);
	h->library.easy_setopt(h->handle, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)size);
	h->library.easy_setopt(h->handle, CURLOPT_POSTFIELDS, body);
	take_result(h, h->library.easy_perform(h->handle), error, &arrival);
	if (h->grpc && answer->status)
		take_grpc_result(h, &arrival);
	buffer_fini(&arrival.trailers.message);
	buffer_fini(&message);
}

void http_post(struct http *h, const char *query, const char *const *headers, const void *body,
	       size_t size, struct http_answer *ret_answer)
{
	/* The user's URL may have a query of its own. */
	char *url = xasprintf("%s%s%s", h->url, query && strchr(h->url, '?') ? "&" : "",
			      !query ? "" : query + (strchr(h->url, '?') ? 1 : 0));
	struct curl_slist *list = header_list(h, headers);

	*ret_answer = (struct http_answer){ .grpc_status = GRPC_NONE };
	perform(h, url, list, body, size, ret_answer);
	h->library.slist_free_all(list);
	free(url);
}
