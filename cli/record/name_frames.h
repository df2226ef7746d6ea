/* Names the frames of a recording at its end, while the files of its targets are still open. */
#ifndef SPROF_NAME_FRAMES_H
#define SPROF_NAME_FRAMES_H

struct allocations;
struct debuginfod;
struct profile;
struct record_gpu;
struct sandbox;
struct source;
struct source_ops;

struct name_frames {
	const struct source_ops *ops;
	struct source *source;
	struct record_gpu *gpu;		 /* has further modules; or NULL */
	const struct allocations *alloc; /* likewise */
	struct sandbox *sandbox;	 /* where files of targets are parsed */
	struct debuginfod *debuginfod;	 /* NULL = not asked for */
};

void record_name_frames(struct name_frames *n, struct profile *vocabulary);

#endif
