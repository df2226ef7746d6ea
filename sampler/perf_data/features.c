/*
 * A feature is a section of bytes with a layout of its own; a string in it is preceded by its
 * padded length. A damaged feature leaves what was known before.
 */
#include "sampler/perf_data/features.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

#define BUILD_IDS_MAX (1u << 20)
#define WORDS_MAX 65536 /* of a command line */
#define SHA1_SIZE 20
#define MISC_BUILD_ID_SIZE (1 << 15) /* perf's own flag: the size follows the id */

enum {
	FEATURE_BUILD_ID = 2,
	FEATURE_HOSTNAME = 3,
	FEATURE_RELEASE = 4,
	FEATURE_VERSION = 5,
	FEATURE_ARCH = 6,
	FEATURE_NR_CPUS = 7,
	FEATURE_COMMAND = 11,
	FEATURE_EVENTS = 12,
};

/* The caller frees the result; NULL where it is damaged. */
static char *take_string(struct cursor *b)
{
	uint64_t size = cursor_fixed(b, 4);
	const uint8_t *text = cursor_take(b, size);
	size_t length;
	char *s;

	if (!text)
		return NULL;
	length = strnlen((const char *)text, size);
	s = xmalloc(length + 1);
	memcpy(s, text, length);
	s[length] = '\0';
	return s;
}

static void set_string(char **to, struct cursor *b)
{
	char *s = take_string(b);

	if (!s)
		return;
	free(*to);
	*to = s;
}

static void read_command(struct perf_data_file *f, struct cursor *b)
{
	uint64_t nr = cursor_fixed(b, 4);
	struct buffer line = { 0 };

	for (uint64_t i = 0; i < nr && i < WORDS_MAX; i++) {
		char *word = take_string(b);

		if (!word)
			break;
		if (i)
			buffer_add_char(&line, ' ');
		buffer_add_string(&line, word);
		free(word);
	}
	free(f->command);
	f->command = xstrdup(buffer_cstring(&line));
	buffer_fini(&line);
}

/* Names of events, without modifiers: "cpu-clock:ppp" is cpu-clock. */
static void read_events(struct perf_data_file *f, struct cursor *b)
{
	uint64_t nr = cursor_fixed(b, 4), attr_size = cursor_fixed(b, 4);

	for (uint64_t i = 0; i < nr && i < f->nr_events && !b->bad; i++) {
		uint64_t nr_ids;

		cursor_take(b, attr_size);
		nr_ids = cursor_fixed(b, 4);
		set_string(&f->events[i].name, b);
		f->events[i].name[strcspn(f->events[i].name, ":")] = '\0';
		cursor_take(b, nr_ids * 8);
	}
}

/*
 * Each record is a header, a pid, 20 bytes of build-id, a byte that is its size if
 * MISC_BUILD_ID_SIZE is set, 3 unused bytes and a path.
 */
void perf_data_read_build_ids(struct perf_data_file *f, struct cursor b)
{
	while (cursor_left(&b) > sizeof(struct perf_event_header) + 4 + 24 &&
	       f->nr_build_ids < BUILD_IDS_MAX) {
		struct perf_data_build_id *id;
		struct perf_event_header h;
		const uint8_t *record;
		size_t fixed = sizeof(h) + 4 + 24;

		memcpy(&h, b.at, sizeof(h));
		record = cursor_take(&b, h.size);
		if (!record || h.size <= fixed || !memchr(record + fixed, '\0', h.size - fixed))
			return;
		f->build_ids = xgrow(f->build_ids, &f->build_ids_capacity, f->nr_build_ids + 1,
				     sizeof(*f->build_ids));
		id = &f->build_ids[f->nr_build_ids++];
		*id = (struct perf_data_build_id){ .path = (const char *)record + fixed,
						   .size = SHA1_SIZE };
		memcpy(id->id, record + sizeof(h) + 4, SHA1_SIZE);
		if (h.misc & MISC_BUILD_ID_SIZE && record[sizeof(h) + 4 + SHA1_SIZE] <= SHA1_SIZE)
			id->size = record[sizeof(h) + 4 + SHA1_SIZE];
	}
}

void perf_data_read_feature(struct perf_data_file *f, uint32_t feature, struct cursor bytes)
{
	switch (feature) {
	case FEATURE_BUILD_ID: perf_data_read_build_ids(f, bytes); break;
	case FEATURE_HOSTNAME: set_string(&f->hostname, &bytes); break;
	case FEATURE_RELEASE: set_string(&f->release, &bytes); break;
	case FEATURE_VERSION: set_string(&f->version, &bytes); break;
	case FEATURE_ARCH: set_string(&f->arch, &bytes); break;
	case FEATURE_NR_CPUS:
		cursor_fixed(&bytes, 4);
		f->nr_cpus = (uint32_t)cursor_fixed(&bytes, 4);
		break;
	case FEATURE_COMMAND: read_command(f, &bytes); break;
	case FEATURE_EVENTS: read_events(f, &bytes); break;
	}
}
