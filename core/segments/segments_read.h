/*
 * Reads a folder of segments as one profile. Segments that cannot hold anything of the wanted time
 * are not opened. The folder's content is untrusted: only regular files with names of segments are
 * read, and no link is followed.
 */
#ifndef SPROF_SEGMENTS_READ_H
#define SPROF_SEGMENTS_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/profile/moment.h"

struct profile;

struct segments_wanted {
	struct moment from,
		to;	  /* after the start of the first segment, before the end of the last */
	const char *host; /* NULL: any */
	bool no_names;	  /* do not read the names that are in the folder */
	bool with_marks;  /* read the marks that are in the folder */
	/* Called with the size of all segments, before one is read. */
	void (*tell_size)(void *context, uint64_t bytes);
	void *context;
};

struct mark;

struct segments_found {
	size_t nr;	      /* segments in the folder */
	size_t nr_read;	      /* of them */
	size_t nr_unfinished; /* of those that were read */
	size_t nr_unreadable; /* whose files could not be read */
	uint64_t size_bytes;  /* of all segments */
	struct mark *marks;   /* of the wanted time; the caller frees them */
	size_t nr_marks;
	bool is_recorded_into; /* a recorder has the folder locked */
};

bool segments_is_folder(const char *path);

/*
 * `folder` is a descriptor. 0 with a profile that the caller frees, or -errno: -ENODATA if there is
 * no segment, or none of the wanted time and host. Always fills *ret_found.
 */
int segments_read(int folder, const struct segments_wanted *wanted, struct profile **ret_profile,
		  struct segments_found *ret_found);

#endif
