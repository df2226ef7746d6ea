/* Writes what ranks_align() found, as text for people and as JSON for programs. */
#ifndef SPROF_RANKS_WRITE_H
#define SPROF_RANKS_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;
struct ranks;

struct ranks_write_opts {
	uint32_t max_rows; /* of collectives; 0 = all */
	size_t columns;	   /* of the terminal; 0 = not cut */
	bool unicode;
};

void ranks_write(struct buffer *b, const struct ranks *r, const struct ranks_write_opts *opts);
/* One object: version, ranks, clocks, collectives, causes. max_rows counts. */
void ranks_write_json(struct buffer *b, const struct ranks *r, const struct ranks_write_opts *opts);

#endif
