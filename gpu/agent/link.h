/* The socket between the agent and a recorder. */
#ifndef SPROF_GPU_AGENT_LINK_H
#define SPROF_GPU_AGENT_LINK_H

#include <stdbool.h>

/* All return a descriptor, closed on exec, or -errno. */

/* To the recorder that launched this process: SPROF_GPU_SOCKET. -ENOENT where nobody did. */
int link_connect(void);
/* Where a recorder finds this process: an abstract name with its number. */
int link_listen(void);
/* A recorder that came, if it may: same user, or root. */
int link_accept(int listener);

/* Sends the hello with the region's descriptor. 0 or -errno. */
int link_send_region(int fd);
/*
 * Waits for a message: 1 = `control` in the region may have changed, 0 = timeout, or unwind rows came, which are put
 * to use, -EPIPE = the recorder is gone.
 */
int link_wait(int fd, int timeout_ms);
/* Tells the recorder that there will be no more, and lets it read what there is before another one may come. */
void link_hang_up(int fd);

#endif
