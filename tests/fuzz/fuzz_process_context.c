/* Reads any bytes as the process context of OpenTelemetry that a target has published. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/untrusted/process_context.h"

#define MAX 300

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct context_resource r;

	if (!context_resource_parse(data, size, MAX, &r))
		return 0;
	if (r.attributes.size > MAX)
		abort();
	for (size_t i = 0; i < r.attributes.size; i++)
		if ((unsigned char)r.attributes.data[i] < ' ' || r.attributes.data[i] == 0x7f)
			abort();
	context_resource_fini(&r);
	return 0;
}
