/*
 * A file whose beginning can be looked at before it is read, be it a pipe.
 */
#ifndef SPROF_LOOKAHEAD_H
#define SPROF_LOOKAHEAD_H

#include <stddef.h>
#include <stdio.h>

struct lookahead {
	char *head;  /* at most the size asked for */
	size_t size; /* bytes of it */
	FILE *file;  /* reads all of the file, from its beginning */
	char *buffer;
	FILE *inner; /* the caller's, which stays open; its offset is then anywhere */
	size_t at;   /* how much of the head was read again */
};

/* Reads up to `size` bytes ahead. 0 or -errno, not reported. */
int lookahead_init(struct lookahead *l, FILE *f, size_t size);
void lookahead_fini(struct lookahead *l);

#endif
