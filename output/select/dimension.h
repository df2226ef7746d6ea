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
	/* Rewrites the stacks, so that each row of a table is one of these. */
	void (*apply)(struct profile *p);
	/* The same for a profile that is compared: no row is named by a number of its own. */
	void (*compare)(struct profile *p);
	/*
	 * The same for a picture: below a root frame for each thread, process, cgroup, container or
	 * user, the stacks stay as they are.
	 */
	void (*draw)(struct profile *p);
};

/* The first entry is "function", which changes nothing. Ends with an entry whose name is NULL. */
extern const struct dimension dimension_table[];

/* The dimension of that name, or NULL. */
const struct dimension *dimension_find(const char *name);

#endif
