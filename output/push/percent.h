/* %XX in what other programs sent: the reasons of gRPC servers, the labels of OpenTelemetry. */
#ifndef SPROF_PERCENT_H
#define SPROF_PERCENT_H

#include <stddef.h>

struct buffer;

/*
 * Appends the decoded text until `b` has `max` bytes. A '%' without two hexadecimal digits behind
 * it stands for itself.
 */
void percent_decode(struct buffer *b, const char *s, size_t size, size_t max);

#endif
