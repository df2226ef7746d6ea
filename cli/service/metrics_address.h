/* Where the counters of a recorder are served: the argument of --metrics. */
#ifndef SPROF_METRICS_ADDRESS_H
#define SPROF_METRICS_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>

struct metrics_address {
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	};
	socklen_t size;
};

/*
 * Parses ADDRESS:PORT, [ADDRESS]:PORT or PORT, which is a port of 127.0.0.1. The address is a
 * number or "localhost". Returns false for any other text.
 */
bool metrics_address_parse(const char *text, struct metrics_address *ret);

#endif
