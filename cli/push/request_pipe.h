/*
 * Two processes push a profile. One reads and names it, without rights and network, and writes
 * requests into a pipe; the other one sends what comes out, and reads no recording. So a hostile
 * recording that takes over its reader reaches no network, and a hostile receiver no files.
 */
#ifndef SPROF_REQUEST_PIPE_H
#define SPROF_REQUEST_PIPE_H

struct profile;
struct push_labels;
struct pusher;
struct receiver;

/* Makes the requests of a profile and writes them into the pipe. 0 or -errno, not reported. */
int request_pipe_write(int fd, const struct profile *p, const struct receiver *receiver,
		       const struct push_labels *labels);

/*
 * Sends the requests from the pipe, until its end. 0, or -errno, reported, if it holds anything
 * else.
 */
int request_pipe_send(int fd, struct pusher *pusher);

#endif
