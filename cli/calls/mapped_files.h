/* The files that processes have mapped for execution; each is handed to a hook once. */
#ifndef SPROF_MAPPED_FILES_H
#define SPROF_MAPPED_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct mapped_files;
struct file_mapping;

/* mapped_files_free() accepts NULL. */
struct mapped_files *mapped_files_new(void);
void mapped_files_free(struct mapped_files *files);

/* Adds an inode. Returns whether it is new. */
bool mapped_files_add(struct mapped_files *files, uint64_t dev, uint64_t ino);

/* May a new file of this user be handed over now? If not, a later look tries again. */
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
