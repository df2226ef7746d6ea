/*
 * Tracks of trace events (chrome_gpu): slices with a start and an end, sorted into tracks in which one may hold
 * another or follow it. Where two cross (kernels of a graph, ranges that cross threads) a second track takes
 * the other.
 */
#ifndef SPROF_CHROME_TRACKS_H
#define SPROF_CHROME_TRACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;
struct profile;

/* Numbers that no process, no thread and no track of samples (export_chrome) has. */
#define CHROME_FIRST_ID 0xc0000000u
/* Tracks side by side. Beyond that, what crosses is drawn over each other. */
#define CHROME_MAX_LANES 64

enum { NR_SLICE_KEYS = 4 };

struct slice {
	uint64_t keys[NR_SLICE_KEYS]; /* the same: the same track */
	uint64_t start_ns, end_ns;
	uint32_t row; /* of the table that it comes from */
};

/* A track while it is filled: the ends of what is open at the moment, outermost first. */
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
	uint64_t pid; /* of the track at hand */
};

struct slice_kind {
	void *context;
	bool nests; /* may one hold another? */
	/* The process of the track that such a slice is in, and what the track is called. */
	uint64_t (*track)(void *context, const struct slice *s, struct buffer *ret_name);
	/* Writes it, in the process at hand. */
	void (*add)(void *context, const struct slice *s, uint32_t tid);
};

/* An event is begun; whoever began it ends it with a brace. */
void chrome_begin(struct chrome_tracks *t, const char *phase, uint64_t pid, uint32_t tid);
/* A time, in us since the recording began. */
void chrome_add_time(struct chrome_tracks *t, const char *key, uint64_t time_ns);
void chrome_add_text(struct chrome_tracks *t, const char *key, const char *text);
/* Begins a slice; `name`: a string of the profile. */
void chrome_begin_slice(struct chrome_tracks *t, uint32_t tid, const struct slice *s,
			const char *category, uint32_t name);
/* `what`: "process_name", "thread_name". */
void chrome_add_name(struct chrome_tracks *t, const char *what, uint64_t pid, uint32_t tid,
		     const char *name);

/* In the order in which they are to be added. */
void chrome_sort_slices(struct slice *list, size_t nr);
bool chrome_same_track(const struct slice *a, const struct slice *b);
/* The track for the next slice, named where it is new; the first of other keys has `is_first`. */
uint32_t chrome_track_for(struct chrome_tracks *t, const struct slice *s,
			  const struct slice_kind *kind, bool is_first);
/* Sorts and adds them all. */
void chrome_add_slices(struct chrome_tracks *t, struct slice *list, size_t nr,
		       const struct slice_kind *kind);
void chrome_tracks_fini(struct chrome_tracks *t);

#endif
