/*
 * Finds the files of a file table that no followed process maps any more and releases them: their
 * descriptors at once, their indexes after a rest. A source calls file_release_begin(), marks what
 * each of its processes maps, and calls file_release_end().
 */
#ifndef SPROF_FILE_RELEASE_H
#define SPROF_FILE_RELEASE_H

#include <stdbool.h>
#include <stdint.h>

struct file_table;
struct mapped_file;
struct process;

struct file_release {
	uint32_t round;
	uint64_t next_ns;     /* when to see whether it is time */
	uint64_t seldom_ns;   /* when to look in any case */
	uint64_t nr_refused;  /* as of the last look */
	uint32_t nr_released; /* in the last look */
};

/*
 * Is it time to look? It is every 10 s, and every second while many files are new or do not find
 * room.
 */
bool file_release_begin(struct file_release *release, struct file_table *files, uint64_t now_ns);
void file_release_mark(const struct file_release *release, const struct process *process);
/*
 * Releases what was not marked. on_release() is called before: from now on no walker may find
 * anything at the file's index.
 */
void file_release_end(struct file_release *release, struct file_table *files, uint64_t now_ns,
		      void (*on_release)(void *context, struct mapped_file *file), void *context);

#endif
