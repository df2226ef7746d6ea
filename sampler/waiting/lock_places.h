/*
 * Where a lock lies: in which variable of a program or library, or where in its data, in the heap
 * or in a stack.
 */
#ifndef SPROF_LOCK_PLACES_H
#define SPROF_LOCK_PLACES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct lock_places;
struct sandbox;

/* The sandbox reads symbol tables; NULL: this process does. It must outlive the result. */
struct lock_places *lock_places_new(const struct sandbox *sandbox);
void lock_places_free(struct lock_places *places);

struct lock_place {
	char where[112];  /* "libc.so.6+0x1d2a40" or "[heap]+0x2a0"; "": not known */
	char symbol[128]; /* "the_lock (program)"; "": it is in no variable that has a name */
};

/* The result is valid until the next call. */
const struct lock_place *lock_places_find(struct lock_places *places, pid_t pid, uint64_t address);
/* Writes both, "the_lock (program+0x4120)", or what is known of them, or "". */
void lock_place_text(const struct lock_place *place, char *text, size_t size);

#endif
