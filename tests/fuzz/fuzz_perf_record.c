/*
 * Reads what the kernel and perf write. A file of perf record is read whole. Of any other input the
 * first bytes are the header (type, misc) of a ring's record and whether samples carry a call
 * chain; the rest is the record. Whatever the reader accepts must lie inside the input.
 */
#include <stdlib.h>
#include <string.h>

#include "imported.h"

#include "sampler/perf_data/perf_data.h"
#include "sampler/perf/perf_record.h"

static bool is_file(const char *data, size_t size)
{
	return perf_data_is(data, size);
}

static int read_file(FILE *f, const char *name, const struct import_opts *opts,
		     struct profile **ret_profile)
{
	struct perf_data_facts facts;
	struct buffer data = { 0 };
	int err = buffer_add_file(&data, f, 1u << 24);

	(void)name;
	(void)opts;
	if (!err)
		err = perf_data_read(data.data, data.size, NULL, &facts, ret_profile);
	if (!err)
		free(facts.kernel_symbol);
	buffer_fini(&data);
	return err;
}

static int check_record(const uint8_t *data, size_t size)
{
	struct perf_event_header h = { 0 };
	struct perf_record r;
	uint8_t *body;

	if (size < 3)
		return 0;
	h.type = data[0];
	h.misc = (uint16_t)(data[1] << 8 | data[1]);
	/* A copy of exactly this size, so that the sanitizer catches reads beyond it. */
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct importer file = { .name = "perf.data",
					      .is = is_file,
					      .read = read_file };

	return is_file((const char *)data, size) ? check_import(&file, data, size)
						 : check_record(data, size);
}
