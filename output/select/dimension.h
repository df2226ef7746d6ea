/*
 * What time is reported by (--by): a profile is rewritten so that its stacks consist of modules,
 * files, lines, ... instead of functions. Every output of functions then shows those.
 */
#ifndef SPROF_DIMENSION_H
#define SPROF_DIMENSION_H

struct profile;

struct dimension {
	const char *name;    /* for --by */
	const char *heading; /* of its column in a table */
	const char *plural;  /* for sentences */
	void (*apply)(struct profile *p);
};

/* The first entry is "function", which changes nothing. Ends with an entry whose name is NULL. */
extern const struct dimension dimension_table[];

/* The dimension of that name, or NULL. */
const struct dimension *dimension_find(const char *name);

#endif
