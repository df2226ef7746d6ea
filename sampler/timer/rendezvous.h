/*
 * The sockets that targets come to (sampler/agent/rendezvous.h), on the recorder's side: a target
 * that may come in gets a region and is sampled from then on.
 */
#ifndef SPROF_RENDEZVOUS_H
#define SPROF_RENDEZVOUS_H

#include <stdint.h>

struct admission;
struct timer_drain;
struct timer_processes;
struct timer_rendezvous;
struct timer_wake;

/* Opens the sockets. 0 or -errno. */
int timer_rendezvous_new(struct timer_rendezvous **ret_rendezvous);
void timer_rendezvous_free(struct timer_rendezvous *rendezvous); /* NULL is fine */
/* The number by which a target finds it. */
uint64_t timer_rendezvous_name(const struct timer_rendezvous *rendezvous);
/* Has the epoll instance report when a target comes. 0 or -errno. */
int timer_rendezvous_add_to_epoll(const struct timer_rendezvous *rendezvous, int epoll_fd);

/*
 * What becomes of a target that comes: it is added, its samples are read, or it is no longer waited
 * for.
 */
struct timer_reception {
	struct timer_processes *processes;
	struct timer_wake *wake;
	struct timer_drain *drain;
	struct admission *admission;
};
/* Serves targets that have come, a bounded number; the sockets stay readable for the others. */
void timer_rendezvous_serve(struct timer_rendezvous *rendezvous,
			    const struct timer_reception *reception);

#endif
