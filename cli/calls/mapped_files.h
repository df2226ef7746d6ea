/* The files that processes have mapped for execution, each of which is shown once. */
#ifndef SPROF_MAPPED_FILES_H
#define SPROF_MAPPED_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct mapped_files;
struct file_mapping;

/* Zero or more of these are open at a time; NULL is fine for mapped_files_free(). */
struct mapped_files *mapped_files_new(void);
void mapped_files_free(struct mapped_files *files);

/* Is this inode new? It is not any more afterwards. */
bool mapped_files_add(struct mapped_files *files, uint64_t dev, uint64_t ino);

/*
 * May a new file of this user be shown now? If not, it is shown at a later look.
 */
typedef bool mapped_files_room_fn(void *context, uint32_t user);
/* Takes a new file. `user` is charged for the process. */
typedef void mapped_files_take_fn(void *context, const struct file_mapping *mapping, uint32_t user);

struct mapped_files_hooks {
	mapped_files_room_fn *has_room;
	mapped_files_take_fn *take;
	void *context;
};

/* Looks at a process, or at all but this one. */
void mapped_files_look(struct mapped_files *files, pid_t pid,
		       const struct mapped_files_hooks *hooks);
void mapped_files_look_at_all(struct mapped_files *files, const struct mapped_files_hooks *hooks);

#endif
