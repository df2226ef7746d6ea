/* Where a lock lies: in which file's data, heap or stack of its process. */
#ifndef SPROF_LOCK_PLACES_H
#define SPROF_LOCK_PLACES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct lock_places;

struct lock_places *lock_places_new(void);
void lock_places_free(struct lock_places *places);
/* Writes "libc.so.6+0x1d2a40" or "[heap]+0x2a0"; "": not known. */
void lock_places_text(struct lock_places *places, pid_t pid, uint64_t address, char *text,
		      size_t size);

#endif
