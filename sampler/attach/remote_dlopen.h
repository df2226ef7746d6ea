/*
 * Loads a library into a process that runs: one of its threads, stopped where that is safe
 * (sampler/attach/safe_point.h), calls the process's own dlopen(3).
 *
 * A watchdog looks on meanwhile. A thread that waits for the loader's lock is taken back: the owner
 * of that lock may be waiting for it. A thread that is busy loading is left to finish: nothing that
 * it has begun can be undone, and it goes on by itself afterwards.
 */
#ifndef SPROF_REMOTE_DLOPEN_H
#define SPROF_REMOTE_DLOPEN_H

#include <stdint.h>
#include <sys/types.h>

#include "sampler/inject/reason.h"

struct sandbox;

#define REMOTE_DLOPEN_STOP_MS 20u /* a thread is stopped no longer than this, as a goal */

/* What is to be loaded, and how. */
struct remote_library {
	const char *path; /* absolute, and as the target sees it (its mount namespace) */
	/*
	 * A function of the library without arguments, which the same thread calls once the library
	 * is loaded, and finishes; NULL: none.
	 */
	const char *entry;
	int mode;		       /* as of dlopen(3) */
	unsigned int limit_ms;	       /* how long to look for a safe point, after the first look */
	const struct sandbox *sandbox; /* where the target's files are parsed; NULL: here */
};

struct remote_dlopen {
	int64_t result;	  /* what `entry` returned */
	uint64_t handle;  /* in the target */
	uint64_t stop_ns; /* how long the thread did not run its program */
	char error[256];  /* what dlerror(3) said there, where dlopen(3) failed */
};

/*
 * The errno of the thread that loads the library is kept. 0; or -errno and the reason: those of
 * inject_open() and safe_point_new(), -ENOTSUP (it has no dlopen: a static program), -ENOSYS (no
 * such entry; the library stays loaded), -EBUSY (no safe point was found, or its loader is locked:
 * nothing has changed), -ELIBACC (dlopen(3) failed: ret->error), -EINPROGRESS (it is still
 * loading).
 */
int remote_dlopen(pid_t pid, const struct remote_library *library, struct remote_dlopen *ret,
		  struct inject_reason *reason);

#endif
