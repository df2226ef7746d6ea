/* What of this host and this process decides which sources work; for sprof doctor. */
#ifndef SPROF_HOST_FACTS_H
#define SPROF_HOST_FACTS_H

#include <stddef.h>

struct host_fact {
	const char *key;  /* for programs */
	const char *name; /* for people */
	/* The value in words, "unknown" where it cannot be read. */
	void (*read)(char *value, size_t size);
};

/* Ends with a NULL key. */
extern const struct host_fact host_facts[];

#endif
