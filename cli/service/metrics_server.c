/*
 * A client sends one request and gets one answer. When all places are taken, a new client replaces
 * the oldest one, so idle connections do not keep others out.
 */
#include "cli/service/metrics_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/service/metrics_address.h"
#include "core/base/alloc.h"
#include "core/base/buffer.h"

#define MAX_CLIENTS 8
#define MAX_ACCEPTED 8 /* clients in a round */
#define MAX_REQUEST 4096
#define CLIENT_NS (5ull * 1000 * 1000 * 1000)
#define TEXT_NS (1000ull * 1000 * 1000)

struct client {
	int fd;
	uint64_t since_ns;
	char request[MAX_REQUEST];
	size_t nr_read;
	struct buffer answer;
	size_t nr_sent;
};

struct metrics_server {
	int fd;
	uint16_t port;
	struct client clients[MAX_CLIENTS]; /* oldest first */
	size_t nr;
	struct buffer text;
	uint64_t text_ns; /* when `text` was made; 0: never */
};

static int listen_on(struct metrics_server *m, struct metrics_address *a)
{
	const int one = 1;

	m->fd = socket(a->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (m->fd < 0)
		return -errno;
	setsockopt(m->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(m->fd, &a->any, a->size) || listen(m->fd, MAX_CLIENTS) ||
	    getsockname(m->fd, &a->any, &a->size))
		return -errno;
	m->port = ntohs(a->any.sa_family == AF_INET ? a->v4.sin_port : a->v6.sin6_port);
	return 0;
}

int metrics_server_new(const char *address, struct metrics_server **ret)
{
	struct metrics_server *m;
	struct metrics_address a;
	int err;

	if (!metrics_address_parse(address, &a))
		return -EINVAL;
	m = xcalloc(1, sizeof(*m));
	err = listen_on(m, &a);
	if (err)
		metrics_server_free(m);
	else
		*ret = m;
	return err;
}

uint16_t metrics_server_port(const struct metrics_server *m)
{
	return m->port;
}

static void drop(struct metrics_server *m, size_t i)
{
	close(m->clients[i].fd);
	buffer_fini(&m->clients[i].answer);
	memmove(&m->clients[i], &m->clients[i + 1], (--m->nr - i) * sizeof(m->clients[0]));
}

void metrics_server_free(struct metrics_server *m)
{
	if (!m)
		return;
	while (m->nr)
		drop(m, m->nr - 1);
	if (m->fd >= 0)
		close(m->fd);
	buffer_fini(&m->text);
	free(m);
}

static void accept_clients(struct metrics_server *m, uint64_t now_ns)
{
	for (int i = 0; i < MAX_ACCEPTED; i++) {
		int fd = accept4(m->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0)
			return;
		if (m->nr == MAX_CLIENTS)
			drop(m, 0);
		m->clients[m->nr].fd = fd;
		m->clients[m->nr].since_ns = now_ns;
		m->clients[m->nr].nr_read = m->clients[m->nr].nr_sent = 0;
		m->clients[m->nr++].answer = (struct buffer){ 0 };
	}
}

static void answer(struct client *c, const char *status, const struct buffer *text)
{
	buffer_printf(&c->answer,
		      "HTTP/1.0 %s\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
		      "Content-Length: %zu\r\nConnection: close\r\n\r\n",
		      status, text ? text->size : 0);
	if (text)
		buffer_add(&c->answer, text->data, text->size);
}

static const struct buffer *text_of(struct metrics_server *m, uint64_t now_ns, metrics_write *write,
				    void *context)
{
	if (!m->text_ns || now_ns - m->text_ns >= TEXT_NS) {
		m->text.size = 0;
		write(context, &m->text);
		m->text_ns = now_ns;
	}
	return &m->text;
}

static bool begins_with(const struct client *c, const char *text)
{
	return c->nr_read >= strlen(text) && !memcmp(c->request, text, strlen(text));
}

/* Returns 1 if a request has come, 0 if it is not complete yet, -1 if none will come. */
static int read_request(struct client *c)
{
	while (c->nr_read < MAX_REQUEST) {
		ssize_t n = recv(c->fd, c->request + c->nr_read, MAX_REQUEST - c->nr_read, 0);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -1;
		if (!n)
			return -1;
		c->nr_read += (size_t)n;
		if (memmem(c->request, c->nr_read, "\r\n\r\n", 4) ||
		    memmem(c->request, c->nr_read, "\n\n", 2))
			return 1;
	}
	return 1;
}

static bool is_too_long(const struct client *c)
{
	return c->nr_read == MAX_REQUEST;
}

/* Returns false when all is sent, or the client is gone. */
static bool send_answer(struct client *c)
{
	while (c->nr_sent < c->answer.size) {
		ssize_t n = send(c->fd, c->answer.data + c->nr_sent, c->answer.size - c->nr_sent,
				 MSG_NOSIGNAL);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR;
		c->nr_sent += (size_t)n;
	}
	return false;
}

/* Returns false when the connection is to be closed. */
static bool serve(struct metrics_server *m, struct client *c, uint64_t now_ns, metrics_write *write,
		  void *context)
{
	int there;

	if (c->answer.size)
		return send_answer(c);
	there = read_request(c);
	if (there <= 0)
		return !there;
	if (is_too_long(c))
		answer(c, "431 Request Header Fields Too Large", NULL);
	else if (begins_with(c, "GET /metrics ") || begins_with(c, "GET /metrics?") ||
		 begins_with(c, "GET / "))
		answer(c, "200 OK", text_of(m, now_ns, write, context));
	else if (begins_with(c, "GET "))
		answer(c, "404 Not Found", NULL);
	else
		answer(c, "405 Method Not Allowed", NULL);
	return send_answer(c);
}

void metrics_server_round(struct metrics_server *m, uint64_t now_ns, metrics_write *write,
			  void *context)
{
	if (!m)
		return;
	accept_clients(m, now_ns);
	for (size_t i = m->nr; i-- > 0;) {
		struct client *c = &m->clients[i];

		if (!serve(m, c, now_ns, write, context) || now_ns - c->since_ns > CLIENT_NS)
			drop(m, i);
	}
}
