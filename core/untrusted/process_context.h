/*
 * What a process says of itself to profilers: the process context of OpenTelemetry (OTEP 4719,
 * version 2 of its header). An SDK publishes its resource attributes in memory of its process, in a
 * mapping named OTEL_CTX, when it is ready, and replaces them when they change. Any byte may be
 * hostile; version 1, which was for development, is not read.
 */
#ifndef SPROF_PROCESS_CONTEXT_H
#define SPROF_PROCESS_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/buffer.h"

#define PROCESS_CONTEXT_MAX (64u << 10) /* bytes of one that is read */

/* 0, -ENOENT where there is none, or -errno. */
int process_context_find(pid_t pid, uint64_t *ret_address);

/*
 * Reads the context at that address if it is another one than the one published at *published_ns; 0
 * stands for none. 1, with the payload in place of what was in the buffer; 0 where it is the same;
 * -EAGAIN while the process changes it; -ENOENT where there is none any more, -EPROTONOSUPPORT for
 * another version, -EFBIG for one that is too large, or another -errno.
 */
int process_context_read(pid_t pid, uint64_t address, uint64_t *published_ns,
			 struct buffer *payload);

/* The resource of a payload. */
struct context_resource {
	char *service;		  /* NULL: it names none, or as good as none */
	struct buffer attributes; /* as in OTEL_RESOURCE_ATTRIBUTES: "key=value,..." */
	size_t nr_left_out;	  /* there was no room for them, or they are no text or number */
};

/*
 * Takes the resource attributes of a payload (message ProcessContext of opentelemetry-proto 1.11),
 * at most `max` bytes of text. false: it is no such message; nothing is to be freed then.
 */
bool context_resource_parse(const void *payload, size_t size, size_t max,
			    struct context_resource *ret);
void context_resource_fini(struct context_resource *r);

#endif
