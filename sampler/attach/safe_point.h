/*
 * Is a stopped thread at a point where it can call into the dynamic loader? It is not if it is
 * inside the allocator or the loader itself, because it may hold their locks and their data may be
 * half changed. Its stack is walked to the root, and every frame on it must be known to be
 * something else.
 *
 * Functions are known by the symbols of the program's files. A function of libc that has no
 * exported name counts as harmless only where a thread waits for an event. In doubt the answer is
 * no.
 */
#ifndef SPROF_SAFE_POINT_H
#define SPROF_SAFE_POINT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/attach/critical_functions.h"

struct inject_reason;
struct inject_thread;
struct safe_point;
struct sandbox;

/*
 * Reads what the process maps now, in children of the sandbox, which must outlive the result; NULL:
 * in this process. 0; or -errno and the reason: a child died of a file, or took too long, or its
 * answer makes no sense (role_reader_read()).
 */
int safe_point_new(pid_t pid, const struct sandbox *sandbox, struct safe_point **ret_safe_point,
		   struct inject_reason *reason);
void safe_point_free(struct safe_point *safe_point); /* NULL is fine */

/*
 * The address, in the process, of a function that libc (or, before glibc 2.34, libdl) exports; 0:
 * there is none.
 */
uint64_t safe_point_function(const struct safe_point *safe_point, enum needed_function which);

/* Copies the stack of a stopped thread for safe_point_judge(). */
void safe_point_take(struct safe_point *safe_point, const struct inject_thread *thread);
/*
 * Walks the copy. false: the thread must not be used; safe_point_why() says why. The first walk
 * through a file takes milliseconds, the next ones microseconds.
 */
bool safe_point_judge(struct safe_point *safe_point);
const char *safe_point_why(const struct safe_point *safe_point);

#endif
