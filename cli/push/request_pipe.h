/*
 * Two processes push a profile. One reads and names it, has no rights and no network; it writes
 * requests into a pipe. The other one sends what comes out, and reads no recording. So a hostile
 * recording that takes its reader over reaches nothing, and a hostile receiver sees no file.
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
 * Sends what comes out of the pipe, until its end. 0, or -errno, reported, where it holds no
 * request.
 */
int request_pipe_send(int fd, struct pusher *pusher);

#endif
