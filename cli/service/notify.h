/*
 * Tells the service manager the state of the recorder (sd_notify(3)), through the socket that
 * NOTIFY_SOCKET names. Without that variable all functions do nothing.
 */
#ifndef SPROF_NOTIFY_H
#define SPROF_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>

struct notify {
	int fd;		      /* connected; -1: there is no service manager */
	uint64_t watchdog_ns; /* the manager ends us after such a silence; 0: never */
	uint64_t next_ns;
};

/* Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID; warns where the socket cannot be used. */
void notify_init(struct notify *n);
void notify_fini(struct notify *n);

/* Does a service manager listen? */
static inline bool notify_is_on(const struct notify *n)
{
	return n->fd >= 0;
}

/* Sends lines of NAME=VALUE. They are lost if the manager does not read them. */
void notify_send(const struct notify *n, const char *text);
/* To be called in every round: tells the watchdog twice in the time that it allows. */
void notify_round(struct notify *n, uint64_t now_ns);

#endif
