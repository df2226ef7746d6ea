/* What a thread waited for, in words: the lock, the peer of a socket, the device and the file. */
#ifndef SPROF_WAIT_OBJECT_H
#define SPROF_WAIT_OBJECT_H

#include <stdbool.h>
#include <stddef.h>

#include "sampler/bpf/events.h"
#include "sampler/waiting/wait_reason.h"

#define WAIT_OBJECT_SIZE 160 /* bytes that are enough for the text */

/*
 * Writes the text; false: nothing is known. The facts are the target's and may hold anything.
 * `symbol` names the variable that is the lock; "": it is not known.
 */
bool wait_object_text(const struct wait_facts *facts, enum wait_reason reason, const char *symbol,
		      char *text, size_t size);

#endif
