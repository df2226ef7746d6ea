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
	/* The same for a diff: names lack pids and tids, which differ between recordings. */
	void (*compare)(struct profile *p);
	/*
	 * The same for a picture: what replaces a whole stack in a table becomes the root frame of
	 * the stack.
	 */
	void (*draw)(struct profile *p);
};

/* The first entry is "function", which changes nothing. Ends with an entry whose name is NULL. */
extern const struct dimension dimension_table[];

/* The dimension of that name, or NULL. */
const struct dimension *dimension_find(const char *name);

#endif
