/*
 * The recorder's end of the socket to libsprof-gpu.so (gpu/agent/base/region.h says what goes over it): who
 * comes, and what it is told.
 */
#ifndef SPROF_GPU_LINK_H
#define SPROF_GPU_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "gpu/agent/base/region.h"

struct shared_region;

#define GPU_LINK_NAME_SIZE 64

/* A process that has the library. */
struct gpu_peer {
	int fd;
	pid_t pid; /* as we see it */
	struct shared_region *region;
	struct gpu_region *header; /* the same memory, to write what is the recorder's */
};

/*
 * A non-blocking socket under a name nobody can guess; ret_name is the value of GPU_ENV_SOCKET, of
 * GPU_LINK_NAME_SIZE bytes. -errno; not reported.
 */
int gpu_link_listen(char *ret_name);
/*
 * Takes one process that has come, with its region. 0, -EAGAIN where none waits, or why it was sent
 * away (-EPERM: another user's; -EPROTO: what it said made no sense).
 */
int gpu_link_accept(int listener, struct gpu_peer *ret_peer);
/* To a process that has the library, loaded and asleep; -ECONNREFUSED where it has not. */
int gpu_link_connect(pid_t pid, struct gpu_peer *ret_peer);

/* Unwind rows to walk by: descriptors of struct walk_arena and struct walk_space. */
int gpu_link_send_rows(const struct gpu_peer *peer, int arena_fd, int space_fd);
/* Changes what the library is to do; `config` (before GPU_CONTROL_ACTIVE) may be NULL. */
int gpu_link_control(const struct gpu_peer *peer, enum gpu_control control,
		     const struct gpu_config *config);
/* enum gpu_state, or whatever else the target wrote there. */
uint32_t gpu_link_state(const struct gpu_peer *peer);
/* Has it hung up? That is its end, or its answer to GPU_CONTROL_DETACH. */
bool gpu_link_is_gone(const struct gpu_peer *peer);
/* Everything was read: another recorder may come. */
void gpu_link_let_go(const struct gpu_peer *peer);
/* Hangs up. The region stays where it went to: it is the caller's, as of gpu_link_accept(). */
void gpu_link_close(struct gpu_peer *peer);

#endif
