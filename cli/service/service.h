/*
 * A recorder as a service: tells the service manager its state, and serves its counters. Both take
 * a few microseconds in a round, and neither can delay a recording.
 */
#ifndef SPROF_SERVICE_H
#define SPROF_SERVICE_H

#include <stdint.h>

struct recorder_counters;
struct service;

/* `metrics` is the address for counters, or NULL. 0 or -errno, reported. */
int service_new(const char *metrics, struct service **ret);
void service_free(struct service *s); /* NULL is fine */

typedef void service_count(void *context, struct recorder_counters *ret);

/* Sampling has begun. */
void service_ready(struct service *s);
/* To be called in every round; `count` is called a few times a minute, or when someone asks. */
void service_round(struct service *s, uint64_t now_ns, service_count *count, void *context);
/* Sampling has ended, and what was sampled is being finished. */
void service_stopping(struct service *s);

#endif
