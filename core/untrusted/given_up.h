/*
 * The processes that are left alone because a read of their memory did not return. There is one
 * list; whoever asks holds the lock of the readers.
 */
#ifndef SPROF_GIVEN_UP_H
#define SPROF_GIVEN_UP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

bool given_up_has(pid_t pid);
/* A read of it has been waited for so long. Says so, of the first ones. */
void given_up_add(pid_t pid, uint64_t waited_ns);
/* How many there were since the program began. */
uint64_t given_up_count(void);
/* Says how many were not named, and empties the list. */
void given_up_end(void);
/* For a forked child: the list that it has is its parent's, in any state. */
void given_up_forget(void);

#endif
