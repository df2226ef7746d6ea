/*
 * Brings requests to their receiver: tries again where that can help, keeps in a spool what could
 * not be sent, and counts what became of everything.
 */
#ifndef SPROF_PUSHER_H
#define SPROF_PUSHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct push_request;
struct push_url;
struct pusher;

struct pusher_config {
	const struct push_url *url;
	const char *const *headers; /* ends with NULL; NULL: none */
	const char *ca_file;	    /* or NULL */
	const char *spool;	    /* a folder, or NULL */
	uint64_t spool_bytes;
	uint32_t timeout_ms; /* of one try */
	uint32_t retry_ms;   /* how long further tries of one request may take altogether */
	/* Tells how many milliseconds to wait in place of sleeping: for tests. NULL: sleep. */
	void (*wait)(void *context, uint32_t ms);
	void *wait_context;
};

struct pusher_stats {
	uint64_t nr_sent, sent_samples, sent_bytes; /* requests */
	uint64_t nr_rejected;			    /* parts that the receiver said it left out */
	uint64_t nr_kept, kept_samples;		    /* put into the spool */
	uint64_t nr_lost, lost_samples;		    /* neither sent nor kept */
	uint64_t nr_waiting;			    /* requests in the spool now */
};

/* 0 or -errno, reported. */
int pusher_open(const struct pusher_config *config, struct pusher **ret_pusher);
void pusher_close(struct pusher *pusher); /* NULL is fine */

/*
 * Sends a request, after those in the spool. The same error several times in a row is reported
 * once.
 */
void pusher_send(struct pusher *pusher, struct push_request *request);

/* Sends what the spool holds, as far as the receiver takes it. */
void pusher_send_spool(struct pusher *pusher);

void pusher_stats(struct pusher *pusher, struct pusher_stats *ret_stats);

#endif
