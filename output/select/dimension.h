/*
 * What the time is reported by: a profile is rewritten so that what stands in its stacks are modules, files,
 * lines, ... instead of functions, and everything that shows functions shows those.
 */
#ifndef SPROF_DIMENSION_H
#define SPROF_DIMENSION_H

struct profile;

struct dimension {
	const char *name;    /* for --by */
	const char *heading; /* of their column in a table */
	const char *plural;  /* for people */
	void (*apply)(struct profile *p);
};

/* By function, which changes nothing, comes first. Ends with an entry whose name is NULL. */
extern const struct dimension dimension_table[];

/* By name; NULL where there is none. */
const struct dimension *dimension_find(const char *name);

#endif
