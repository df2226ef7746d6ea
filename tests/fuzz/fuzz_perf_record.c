/*
 * Records of a perf ring. The first bytes are the header (type, misc) and whether samples carry a
 * call chain; the rest is the record. What is accepted must lie inside it.
 */
#include <stdlib.h>
#include <string.h>

#include "sampler/perf_record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct perf_event_header h = { 0 };
	struct perf_record r;
	uint8_t *body;

	if (size < 3)
		return 0;
	h.type = data[0];
	h.misc = (uint16_t)(data[1] << 8 | data[1]);
	/* A copy of its own size: what reads beyond it is caught. */
	body = malloc(size - 3 + 1);
	memcpy(body, data + 3, size - 3);
	body = realloc(body, size - 3 ? size - 3 : 1);
	if (perf_record_parse(&h, body, size - 3, data[2] & 1, &r)) {
		if (r.type == PERF_SAMPLE_TAKEN && r.sample.stack_size &&
		    (r.sample.stack < body ||
		     r.sample.stack_size > (size_t)(body + size - 3 - r.sample.stack)))
			abort();
		if (r.type == PERF_SAMPLE_TAKEN && r.sample.nr_kernel > MAX_KERNEL_FRAMES)
			abort();
		if (r.type == PERF_MAPPED && strlen(r.path) >= size)
			abort();
		if (r.type == PERF_NAMED && r.comm[COMM_SIZE - 1])
			abort();
	}
	free(body);
	return 0;
}
