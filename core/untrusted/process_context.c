/*
 * The time of publication serves as a lock: it is 0 while the process writes, and a new one
 * afterwards. So what was read between two equal headers is consistent.
 */
#include "core/untrusted/process_context.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/untrusted/remote_read.h"

#define SIGNATURE "OTEL_CTX"
#define VERSION 2
#define MAX_TRIES 3
#define MAX_CANDIDATES 8 /* mappings of that name in one process */

struct header {
	char signature[8]; /* without NUL */
	uint32_t version, payload_size;
	uint64_t published_ns; /* CLOCK_BOOTTIME */
	uint64_t payload;      /* address */
};
_Static_assert(sizeof(struct header) == 32, "OTEP 4719");

/* 0, or -errno as in process_context_read(). */
static int read_header(pid_t pid, uint64_t address, struct header *h)
{
	ssize_t n = remote_read(pid, address, h, sizeof(*h));

	if (n < 0)
		return n == -EFAULT ? -ENOENT : (int)n;
	if ((size_t)n < sizeof(*h) || memcmp(h->signature, SIGNATURE, sizeof(h->signature)))
		return -ENOENT;
	if (h->version != VERSION)
		return -EPROTONOSUPPORT;
	return h->published_ns ? 0 : -EAGAIN;
}

/* Returns 1, 0 if the context has not changed, or -errno. */
static int try_read(pid_t pid, uint64_t address, uint64_t *published_ns, struct buffer *payload)
{
	struct header before, after;
	int err = read_header(pid, address, &before);
	ssize_t n;

	if (err)
		return err;
	if (before.published_ns == *published_ns)
		return 0;
	if (before.payload_size > PROCESS_CONTEXT_MAX)
		return -EFBIG;
	payload->size = 0;
	n = remote_read(pid, before.payload, buffer_reserve(payload, before.payload_size),
			before.payload_size);
	err = read_header(pid, address, &after);
	if (err)
		return err;
	if (memcmp(&before, &after, sizeof(before)))
		return -EAGAIN;
	if (n != (ssize_t)before.payload_size)
		return n < 0 ? (int)n : -EFAULT;
	payload->size = (size_t)n;
	*published_ns = before.published_ns;
	return 1;
}

int process_context_read(pid_t pid, uint64_t address, uint64_t *published_ns,
			 struct buffer *payload)
{
	int result = -EAGAIN;

	for (int i = 0; i < MAX_TRIES && result == -EAGAIN; i++)
		result = try_read(pid, address, published_ns, payload);
	return result;
}

/* Is it "/memfd:OTEL_CTX" or the like? The kernel may add " (deleted)". */
static bool is_context(const char *name)
{
	static const char *const names[] = { ("[anon_shmem:" SIGNATURE "]"),
					     ("[anon:" SIGNATURE "]"), ("/memfd:" SIGNATURE) };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		size_t n = strlen(names[i]);

		if (!strncmp(name, names[i], n) && strchr(" \n", name[n]))
			return true;
	}
	return false;
}

/*
 * Returns the address of a mapping that may be a context, or 0. It must be cheap: a process may
 * have 65530 mappings.
 */
static uint64_t candidate(const char *line)
{
	uint64_t start, end;
	char readable;
	int name = 0;

	if (!strstr(line, SIGNATURE) ||
	    sscanf(line, "%" SCNx64 "-%" SCNx64 " %c%*s %*s %*s %*s %n", &start, &end, &readable,
		   &name) != 3 ||
	    !name || readable != 'r' || end <= start || end - start < sizeof(struct header))
		return 0;
	return is_context(line + name) ? start : 0;
}

int process_context_find(pid_t pid, uint64_t *ret_address)
{
	FILE *f = remote_open(pid, "maps");
	int nr = 0, err = -ENOENT;
	char *line = NULL;
	size_t size = 0;

	if (!f)
		return -errno;
	while (err == -ENOENT && nr < MAX_CANDIDATES && getline(&line, &size, f) > 0) {
		uint64_t address = candidate(line);
		struct header h;

		if (!address)
			continue;
		nr++;
		err = read_header(pid, address, &h);
		if (err == -EAGAIN) /* the context is about to be published */
			err = 0;
		if (err == -EPROTONOSUPPORT)
			err = -ENOENT;
		if (!err)
			*ret_address = address;
	}
	free(line);
	fclose(f);
	return err;
}
