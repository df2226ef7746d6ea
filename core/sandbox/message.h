/*
 * Messages with descriptors, over a pair of sockets that keeps the bounds of messages
 * (SOCK_SEQPACKET).
 */
#ifndef SPROF_MESSAGE_H
#define SPROF_MESSAGE_H

#include <stddef.h>
#include <sys/types.h>

#define MESSAGE_FDS_MAX 2

/* Both descriptors are close-on-exec. 0 or -errno. */
int message_pair(int ret_sockets[2]);

/* Sends one message with copies of `nr_fds` descriptors. 0 or -errno; -EPIPE: the peer is gone. */
int message_send(int socket, const void *data, size_t size, const int *fds, size_t nr_fds);

/*
 * Waits for one message. Returns its size; 0 where the peer is gone; -EMSGSIZE where it is larger
 * than `size`; or -errno. Its descriptors go to ret_fds[0 .. nr_fds), which are -1 where there are
 * fewer; they are close-on-exec and the caller's. With nr_fds 0 the kernel closes them.
 */
ssize_t message_receive(int socket, void *data, size_t size, int *ret_fds, size_t nr_fds);

/*
 * Waits until a message can be read or the peer is gone. 0; -ETIMEDOUT; or -ECANCELED, where
 * `cancel_fd` became readable (-1: there is none). timeout_ms < 0 waits for ever.
 */
int message_wait(int socket, int cancel_fd, int timeout_ms);

#endif
