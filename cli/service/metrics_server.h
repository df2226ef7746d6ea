/*
 * Answers GET /metrics over HTTP/1.0, one text for all. Nothing in it waits: it does a bounded
 * amount of work in each round, for a few clients, and lets go those that take long. Clients are
 * untrusted: of a request, only its first line is looked at.
 */
#ifndef SPROF_METRICS_SERVER_H
#define SPROF_METRICS_SERVER_H

#include <stdint.h>

struct buffer;
struct metrics_server;

/*
 * Listens on ADDRESS:PORT, [ADDRESS]:PORT or PORT, which is one of 127.0.0.1; the address is a
 * number or "localhost". 0 or -errno: -EINVAL for any other text.
 */
int metrics_server_new(const char *address, struct metrics_server **ret);
void metrics_server_free(struct metrics_server *m); /* NULL is fine, here and below */

/* The port that it listens on, which the kernel has chosen where 0 was asked for. */
uint16_t metrics_server_port(const struct metrics_server *m);

/* Adds the text; asked for at most once a second. */
typedef void metrics_write(void *context, struct buffer *b);

/* To be called in every round. */
void metrics_server_round(struct metrics_server *m, uint64_t now_ns, metrics_write *write,
			  void *context);

#endif
