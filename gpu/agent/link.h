/* The socket between the agent and a recorder: connecting, the hello, waiting for words. */
#ifndef SPROF_GPU_AGENT_LINK_H
#define SPROF_GPU_AGENT_LINK_H

#include <stdbool.h>

/* These return a descriptor, closed on exec, or -errno. */

/*
 * Connects to the recorder that launched this process (SPROF_GPU_SOCKET). -ENOENT: there is none.
 */
int link_connect(void);
/* Listens under the abstract name by which recorders find this process: its pid. */
int link_listen(void);
/* Accepts a recorder of the same user, or root's. */
int link_accept(int listener);

/* Sends the hello with the descriptor of the region. 0 or -errno. */
int link_send_region(int fd);
/*
 * Waits for a message. Returns 1 if `control` in the region may have changed; 0 after a timeout,
 * or when unwind rows came, which it puts to use; -EPIPE if the recorder is gone.
 */
int link_wait(int fd, int timeout_ms);
/* Hangs up, and gives the recorder up to a second to read the rest before another one may come. */
void link_hang_up(int fd);

#endif
