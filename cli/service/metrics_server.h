/*
 * Answers GET /metrics over HTTP/1.0 with one text. It never waits: a round does a bounded amount
 * of work for a few clients, and drops those that take long. Clients are untrusted; only the first
 * line of a request is looked at.
 */
#ifndef SPROF_METRICS_SERVER_H
#define SPROF_METRICS_SERVER_H

#include <stdint.h>

struct buffer;
struct metrics_server;

/*
 * Listens on `address`, as metrics_address_parse() takes it. 0 or -errno: -EINVAL if it is not one.
 */
int metrics_server_new(const char *address, struct metrics_server **ret);
void metrics_server_free(struct metrics_server *m); /* NULL is fine, here and below */

/* The port that it listens on; the kernel chooses one for port 0. */
uint16_t metrics_server_port(const struct metrics_server *m);

/* Adds the text of the metrics; called at most once a second. */
typedef void metrics_write(void *context, struct buffer *b);

/* To be called in every round. */
void metrics_server_round(struct metrics_server *m, uint64_t now_ns, metrics_write *write,
			  void *context);

#endif
