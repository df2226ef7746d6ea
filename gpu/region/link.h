/*
 * The recorder's end of the socket to libsprof-gpu.so (gpu/agent/base/region.h describes the
 * messages): accepting processes, and telling them what to do.
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
	pid_t pid; /* as the recorder sees it */
	struct shared_region *region;
	struct gpu_region *header; /* in the region, to write config and control */
};

/*
 * Returns a non-blocking socket that listens under a random name, or -errno, not reported.
 * ret_name, of GPU_LINK_NAME_SIZE bytes, is the value for GPU_ENV_SOCKET.
 */
int gpu_link_listen(char *ret_name);
/*
 * Accepts one connection, and says whose it is. Returns its socket, which does not block, or
 * -errno; -EAGAIN if none waits.
 */
int gpu_link_accept(int listener, pid_t *ret_pid, uid_t *ret_uid);
/*
 * Receives the region of a process that has connected. 0: the socket is the peer's now; -EAGAIN: it
 * has said nothing yet; or why it is to be refused: -EPROTO for a bad hello or region, -EPERM for
 * memory that could be taken away. The socket stays the caller's on failure.
 */
int gpu_link_meet(int fd, pid_t pid, struct gpu_peer *ret_peer);
/*
 * Connects to a running process that has the library loaded; -ECONNREFUSED if it has not, -EPERM if
 * another process has taken its name. Waits a second at most.
 */
int gpu_link_connect(pid_t pid, struct gpu_peer *ret_peer);

/* Sends unwind rows: the descriptors of a struct walk_arena and a struct walk_space. */
int gpu_link_send_rows(const struct gpu_peer *peer, int arena_fd, int space_fd);
/* Tells the library what to do. `config` comes with GPU_CONTROL_ACTIVE, else it is NULL. */
int gpu_link_control(const struct gpu_peer *peer, enum gpu_control control,
		     const struct gpu_config *config);
/* enum gpu_state; untrusted, the target may write anything there. */
uint32_t gpu_link_state(const struct gpu_peer *peer);
/* True if it has hung up: it has ended, or it has obeyed GPU_CONTROL_DETACH. */
bool gpu_link_is_gone(const struct gpu_peer *peer);
/* Says that everything was read: another recorder may come. */
void gpu_link_let_go(const struct gpu_peer *peer);
/* Hangs up. The region stays the caller's. */
void gpu_link_close(struct gpu_peer *peer);

#endif
