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

#define PROCESS_CONTEXT_MAX (64u << 10) /* bytes; a larger context is not read */

/* Finds the context of a process. 0, -ENOENT if it has none, or -errno. */
int process_context_find(pid_t pid, uint64_t *ret_address);

/*
 * Reads the context at that address unless it is still the one published at *published_ns (0: read
 * any). Returns 1, with the payload in place of the buffer's content; 0 if it is the same; -EAGAIN
 * while the process changes it; -ENOENT if it is gone, -EPROTONOSUPPORT for another version, -EFBIG
 * if it is too large, or another -errno.
 */
int process_context_read(pid_t pid, uint64_t address, uint64_t *published_ns,
			 struct buffer *payload);

/* The resource of a payload. */
struct context_resource {
	char *service;		  /* NULL: it names none */
	struct buffer attributes; /* as in OTEL_RESOURCE_ATTRIBUTES: "key=value,..." */
	size_t nr_left_out;	  /* attributes without room, or neither text nor number */
};

/*
 * Takes the resource attributes of a payload (message ProcessContext of opentelemetry-proto 1.11),
 * at most `max` bytes of text. Returns false, with nothing to free, if it is no such message.
 */
bool context_resource_parse(const void *payload, size_t size, size_t max,
			    struct context_resource *ret);
void context_resource_fini(struct context_resource *r);

#endif
