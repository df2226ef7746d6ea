/*
 * The socket that processes with GPU data connect to. A process is a guest until it has handed over
 * its memory: it has a second for that, and the recorder does not wait for it.
 */
#ifndef SPROF_GPU_GUESTS_H
#define SPROF_GPU_GUESTS_H

#include <stddef.h>
#include <sys/types.h>

struct gpu_guests;
struct gpu_peer;

/* 0 or -errno, not reported. */
int gpu_guests_new(struct gpu_guests **ret_guests);
void gpu_guests_free(struct gpu_guests *guests); /* NULL is fine */

/* Admits a process and all that descend from it. */
void gpu_guests_expect(struct gpu_guests *guests, pid_t pid);
/* The name of the socket, for GPU_ENV_SOCKET. */
const char *gpu_guests_name(const struct gpu_guests *guests);
/* "NAME=VALUE" for the environment of the launched program (sampler/selection/admission.h). */
const char *gpu_guests_ticket(const struct gpu_guests *guests);

/* Accepts new connections, and gives `take` each guest that has handed over its memory. */
void gpu_guests_serve(struct gpu_guests *guests,
		      void (*take)(void *context, const struct gpu_peer *peer), void *context);
/* How many guests have not handed over their memory yet. */
size_t gpu_guests_waiting(const struct gpu_guests *guests);
/* At the end: warns of processes that were refused. */
void gpu_guests_report(const struct gpu_guests *guests);

#endif
