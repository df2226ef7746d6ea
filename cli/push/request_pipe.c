/* In the pipe, each request follows its size, a uint64_t. */
#include "cli/push/request_pipe.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/full_io.h"
#include "core/base/log.h"
#include "core/profile/profile.h"
#include "output/push/pusher.h"
#include "output/push/receiver.h"
#include "output/push/series.h"
#include "output/push/spool.h"

#define REQUEST_MAX (1ull << 30) /* bytes */

struct writer {
	int fd;
	const struct receiver *receiver;
};

static int write_request(void *context, struct push_request *request)
{
	const struct writer *w = context;
	struct buffer bytes = { 0 };
	uint64_t size;
	int err;

	push_request_encode(request, &bytes);
	push_request_fini(request);
	size = bytes.size;
	err = size > REQUEST_MAX ? -EFBIG : full_write(w->fd, &size, sizeof(size));
	err = err ? err : full_write(w->fd, bytes.data, bytes.size);
	buffer_fini(&bytes);
	return err;
}

static int make_requests(void *context, const struct push_set *set)
{
	const struct writer *w = context;

	return w->receiver->make(set, write_request, context);
}

int request_pipe_write(int fd, const struct profile *p, const struct receiver *receiver,
		       const struct push_labels *labels)
{
	struct writer w = { fd, receiver };
	struct profile timed = *p;

	/* Receivers refuse a profile from 1970, so one without a time gets the present. */
	if (!timed.meta.start_realtime_ns)
		timed.meta.start_realtime_ns = realtime_ns();
	return push_series_each(&timed, labels, make_requests, &w);
}

/* Returns 1, 0 at the end of the pipe, -EBADMSG if it ends before `size` bytes, or -errno. */
static int read_full(int fd, void *to, size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = read(fd, (char *)to + done, size - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			return done ? -EBADMSG : 0;
		done += (size_t)n;
	}
	return 1;
}

static int send_one(int fd, struct pusher *pusher)
{
	struct push_request r;
	uint64_t size;
	char *bytes;
	int result = read_full(fd, &size, sizeof(size));

	if (result <= 0)
		return result;
	if (size > REQUEST_MAX)
		return -EBADMSG;
	bytes = xmalloc(size + 1);
	result = read_full(fd, bytes, size);
	if (result > 0)
		result = push_request_decode(bytes, size, &r) ? -EBADMSG : 1;
	else
		result = result ? result : -EBADMSG;
	free(bytes);
	if (result < 0)
		return result;
	pusher_send(pusher, &r);
	push_request_fini(&r);
	return 1;
}

int request_pipe_send(int fd, struct pusher *pusher)
{
	int result;

	do
		result = send_one(fd, pusher);
	while (result > 0);
	if (result)
		log_error(result == -EBADMSG ? 0 : -result, "push: the process that reads the "
							    "profile died");
	return result;
}
