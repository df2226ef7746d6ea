/*
 * Tracks of trace events. A slice has a start and an end; in one track slices may follow or contain
 * each other, but not cross. Slices that cross (kernels of a graph, ranges from one thread to
 * another) go to tracks side by side.
 */
#ifndef SPROF_CHROME_TRACKS_H
#define SPROF_CHROME_TRACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;
struct profile;

/* Ids from here on are used by no process, no thread and no track of chrome_writer.c. */
#define CHROME_FIRST_ID 0xc0000000u
/* The limit of tracks side by side; slices beyond it overlap in the last. */
#define CHROME_MAX_LANES 64

enum { NR_SLICE_KEYS = 4 };

struct slice {
	uint64_t keys[NR_SLICE_KEYS]; /* slices with equal keys share a track */
	uint64_t start_ns, end_ns;
	uint32_t row; /* in the table that it comes from */
};

/* A track while it is filled: the ends of its open slices, outermost first, in ns. */
struct lane {
	uint64_t *ends;
	size_t nr, capacity;
	uint32_t tid;
};

struct chrome_tracks {
	struct buffer *b;
	const struct profile *p;
	const char *separator; /* goes before the next event */
	struct lane lanes[CHROME_MAX_LANES];
	size_t nr_lanes;
	uint32_t nr_tracks;
	uint64_t pid; /* of the current track */
};

struct slice_kind {
	void *context;
	bool nests; /* may a slice contain another? */
	/* Returns the process that the slice's track belongs to, and the name of the track. */
	uint64_t (*track)(void *context, const struct slice *s, struct buffer *ret_name);
	/* Writes the slice; its process is chrome_tracks.pid. */
	void (*add)(void *context, const struct slice *s, uint32_t tid);
};

/* Begins an event. The caller ends it with "}". */
void chrome_begin(struct chrome_tracks *t, const char *phase, uint64_t pid, uint32_t tid);
/* Adds a time of the recording, as us since its start. */
void chrome_add_time(struct chrome_tracks *t, const char *key, uint64_t time_ns);
void chrome_add_text(struct chrome_tracks *t, const char *key, const char *text);
/* Begins a slice as chrome_begin() does; `name`: a string of the profile. */
void chrome_begin_slice(struct chrome_tracks *t, uint32_t tid, const struct slice *s,
			const char *category, uint32_t name);
/* Names a process or thread; `what`: "process_name" or "thread_name". */
void chrome_add_name(struct chrome_tracks *t, const char *what, uint64_t pid, uint32_t tid,
		     const char *name);

/* Sorts slices by track, then by start: the order in which they must be added. */
void chrome_sort_slices(struct slice *list, size_t nr);
bool chrome_same_track(const struct slice *a, const struct slice *b);
/*
 * The id of the track for the next slice; a new track is named. `is_first`: the keys differ from
 * those of the slice before.
 */
uint32_t chrome_track_for(struct chrome_tracks *t, const struct slice *s,
			  const struct slice_kind *kind, bool is_first);
/* Sorts and writes all slices of the list. */
void chrome_add_slices(struct chrome_tracks *t, struct slice *list, size_t nr,
		       const struct slice_kind *kind);
void chrome_tracks_fini(struct chrome_tracks *t);

#endif
