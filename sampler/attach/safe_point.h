/*
 * Is a stopped thread at a point where it can be made to call into the dynamic loader? Not if it is
 * inside the allocator or the loader itself, whose locks it may hold and whose data may be half
 * changed. Its stack is walked to the root, and every frame on it must be known to be something else.
 *
 * Judged by the symbols of the program's files: functions of libc that have no exported name are
 * believed to be harmless only where a thread waits for something to happen. On any doubt: no.
 */
#ifndef SPROF_SAFE_POINT_H
#define SPROF_SAFE_POINT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/attach/critical_functions.h"

struct inject_thread;
struct safe_point;

/* Reads what the process maps now. 0 or -errno. */
int safe_point_new(pid_t pid, struct safe_point **ret_safe_point);
void safe_point_free(struct safe_point *safe_point); /* NULL is fine */

/*
 * The address in the process of a function that libc (or, before glibc 2.34, libdl) exports; 0: there is
 * none.
 */
uint64_t safe_point_function(const struct safe_point *safe_point, enum needed_function which);

/* Copies the stack of a stopped thread, for what comes next. */
void safe_point_take(struct safe_point *safe_point, const struct inject_thread *thread);
/*
 * Walks what was copied. false: it must go on; safe_point_why() says why. The first walk through a file
 * takes milliseconds, the next ones microseconds.
 */
bool safe_point_judge(struct safe_point *safe_point);
const char *safe_point_why(const struct safe_point *safe_point);

#endif
