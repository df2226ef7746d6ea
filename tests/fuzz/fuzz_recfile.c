/*
 * Reads any bytes as a recording. Checksums would reject nearly all of them at once, so most inputs
 * are taken as the content of a valid one: the first byte says how.
 *
 *	0	 the file as it is
 *	1	 the content of one chunk
 *	2 .. 255 a chunk ends and another begins at each of these bytes
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include <zstd.h>

#include "core/base/buffer.h"
#include "core/profile/facts.h"
#include "core/profile/profile.h"
#include "core/recording/recfile.h"
#include "core/recording/record.h"
#include "output/export/exporter.h"

static void add_header(struct buffer *file)
{
	struct record_file header = {
		.magic = RECORD_FILE_MAGIC,
		.version_major = RECORD_VERSION_MAJOR,
		.header_size = sizeof(header),
	};

	header.check = XXH64(&header, offsetof(struct record_file, check), 0);
	buffer_add(file, &header, sizeof(header));
}

/* The first bytes of the content are also the first ids of the tables, so that some ids match. */
static void add_chunk(struct buffer *file, uint32_t sequence, const uint8_t *data, size_t size)
{
	struct record_chunk chunk = {
		.magic = RECORD_CHUNK_MAGIC,
		.kind = RECORD_CHUNK_RECORDS,
		.sequence = sequence,
		.first = { .string = 1 },
	};
	size_t bound;

	if (sequence && size >= 6) {
		chunk.first = (struct record_first){
			.string = data[0],
			.module = data[1],
			.thread = data[2],
			.frame = data[3],
			.stack = data[4],
			.function = data[5],
		};
		data += 6;
		size -= 6;
	}
	chunk.raw_size = size;
	bound = ZSTD_compressBound(size);
	buffer_reserve(file, sizeof(chunk) + bound);
	chunk.stored_size =
		ZSTD_compress(file->data + file->size + sizeof(chunk), bound, data, size, -5);
	chunk.check = XXH64(&chunk, offsetof(struct record_chunk, check), 0);
	memcpy(file->data + file->size, &chunk, sizeof(chunk));
	file->size += sizeof(chunk) + chunk.stored_size;
}

static void add_chunks(struct buffer *file, uint8_t separator, const uint8_t *data, size_t size)
{
	const uint8_t *end = data + size, *next;
	uint32_t sequence = 0;

	do {
		next = separator > 1 ? memchr(data, separator, (size_t)(end - data)) : NULL;
		add_chunk(file, sequence++, data, (size_t)((next ? next : end) - data));
		data = next ? next + 1 : end;
	} while (next);
}

/* Checks what every reader of a profile relies on. */
static void check(const struct profile *p)
{
	char name[64];

	for (size_t i = 0; i < p->nr_samples; i++) {
		const struct profile_sample *s = &p->samples[i];

		if (s->stack >= p->nr_stacks || s->column >= NR_COLUMNS ||
		    (s->thread != PROFILE_NONE && s->thread >= p->nr_threads))
			abort();
	}
	for (size_t i = 0; i < p->nr_stacks; i++) {
		size_t end = p->stacks[i].first_frame + (size_t)p->stacks[i].nr_frames;

		if (end >= p->nr_stack_frames || p->stack_frames[end] != PROFILE_NONE)
			abort();
	}
	for (size_t i = 0; i < p->nr_stack_frames; i++) {
		if (p->stack_frames[i] >= p->nr_frames && p->stack_frames[i] != PROFILE_NONE)
			abort();
	}
	for (size_t i = 0; i < p->nr_frames; i++) {
		const struct profile_frame *f = &p->frames[i];

		if (f->module >= p->nr_modules || p->modules[f->module].kind > MODULE_PYTHON ||
		    (f->nr_locations && f->first_location + f->nr_locations > p->nr_locations))
			abort();
		for (uint32_t k = 0; k < f->nr_locations; k++) {
			if (p->locations[f->first_location + k].function >= p->nr_functions)
				abort();
		}
		profile_frame_fallback_name(p, (uint32_t)i, name, sizeof(name));
	}
	for (size_t i = 0; i < p->nr_functions; i++) {
		const struct profile_function *f = &p->functions[i];

		if (f->name >= p->nr_strings || f->system_name >= p->nr_strings ||
		    f->file >= p->nr_strings || f->kind >= NR_FUNCTION_KINDS ||
		    (f->module != PROFILE_NONE && f->module >= p->nr_modules))
			abort();
	}
}

/* Checks that ids in facts are ids of the profile. */
static void check_facts(const struct profile *p)
{
	for (int kind = 0; kind < NR_FACT_KINDS; kind++) {
		const struct fact_info *info = fact_info((uint64_t)kind);
		const uint64_t *row;
		size_t nr;

		row = info ? facts_rows(p, kind, &nr) : NULL;
		for (size_t i = 0; row && i < nr; i++, row += info->nr_fields) {
			for (uint32_t k = 0; k < info->nr_fields; k++) {
				char field = info->fields[k];

				if ((field == FIELD_STRING && row[k] >= p->nr_strings) ||
				    (field == FIELD_THREAD && row[k] != PROFILE_NONE &&
				     row[k] >= p->nr_threads) ||
				    (field == FIELD_STACK && row[k] != PROFILE_NONE &&
				     row[k] >= p->nr_stacks))
					abort();
			}
		}
	}
}

/* Times and numbers in events may have any value; writing them must survive that. */
static void write_events(const struct profile *p)
{
	struct buffer b = { 0 };

	export_chrome.write(&b, p);
	buffer_fini(&b);
}

/* Reads it twice as segments of one folder. */
static void read_parts(const struct buffer *file)
{
	struct recfile_part part = { .from_realtime_ns = 1000, .to_realtime_ns = UINT64_MAX / 2 };
	struct profile *p = profile_new();
	char *note;

	for (uint32_t i = 0; i < 2; i++) {
		FILE *f = fmemopen(file->data, file->size, "rb");

		part.number = i;
		if (f && recfile_add(f, p, &part, &note) == 0)
			free(note);
		if (f)
			fclose(f);
	}
	check(p);
	check_facts(p);
	profile_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buffer file = { 0 };
	struct profile *p;
	char *note;
	FILE *f;

	if (!size)
		return 0;
	if (data[0]) {
		add_header(&file);
		add_chunks(&file, data[0], data + 1, size - 1);
	} else {
		buffer_add(&file, data + 1, size - 1);
	}
	f = file.size ? fmemopen(file.data, file.size, "rb") : NULL;
	if (f && recfile_read(f, &p, &note) == 0) {
		check(p);
		check_facts(p);
		write_events(p);
		profile_free(p);
		free(note);
		read_parts(&file);
	}
	if (f)
		fclose(f);
	buffer_fini(&file);
	return 0;
}
