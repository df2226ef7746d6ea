/* An input whose beginning can be looked at before it is read, even if it is a pipe. */
#ifndef SPROF_LOOKAHEAD_H
#define SPROF_LOOKAHEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct lookahead {
	char *head;  /* the first bytes; fewer than asked for if the input ends */
	size_t size; /* bytes in `head` */
	FILE *file;  /* reads the whole input, from its beginning */
	char *buffer;
	FILE *inner; /* the caller's, stays open; must not be read any more */
	size_t at;   /* bytes of `head` that `file` has given out */
	bool is_pipe;
};

/* Reads up to `size` bytes ahead. Returns 0 or -errno, not reported. */
int lookahead_init(struct lookahead *l, FILE *f, size_t size);
void lookahead_fini(struct lookahead *l);

#endif
