/* The facts about this host and this process that decide which sources work; for sprof doctor. */
#ifndef SPROF_HOST_FACTS_H
#define SPROF_HOST_FACTS_H

#include <stddef.h>

struct host_fact {
	const char *key;  /* key in JSON */
	const char *name; /* label in text */
	/* Appends the value in words, "unknown" where it cannot be read. */
	void (*read)(char *value, size_t size);
};

/* The last entry has a NULL key. */
extern const struct host_fact host_facts[];

#endif
