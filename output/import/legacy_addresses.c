/*
 * Reads mappings, lines "start-end perms offset dev inode path" as the kernel prints them. The
 * addresses of frames are offsets in the file, as in a recording.
 */
#include "output/import/legacy_addresses.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "core/base/alloc.h"
#include "core/base/order.h"
#include "core/base/search.h"
#include "core/profile/profile.h"
#include "output/import/named_frames.h"

enum { MAX_MAPPINGS = 65536 };

/* Reads a hexadecimal number of at most 16 digits. */
static bool take_hex(const char **at, const char *end, uint64_t *ret_value)
{
	const char *s = *at;
	uint64_t value = 0;

	for (; s < end && s - *at < 16 && isxdigit((unsigned char)*s); s++)
		value = value << 4 |
			(uint64_t)(isdigit((unsigned char)*s) ? *s - '0' : (*s | 32) - 'a' + 10);
	if (s == *at)
		return false;
	*at = s;
	*ret_value = value;
	return true;
}

static void skip_word(const char **at, const char *end)
{
	while (*at < end && **at != ' ' && **at != '\t')
		(*at)++;
	while (*at < end && (**at == ' ' || **at == '\t'))
		(*at)++;
}

static void add_line(struct legacy_addresses *a, const char *at, const char *end)
{
	struct legacy_mapping m = { 0 };
	uint64_t major, minor, ino = 0;
	char *path;

	if (!take_hex(&at, end, &m.start) || at == end || *at++ != '-' ||
	    !take_hex(&at, end, &m.end) || at == end || *at != ' ' || m.end <= m.start)
		return;
	skip_word(&at, end);
	if (end - at < 4 || at[2] != 'x') /* the permissions: only code has frames */
		return;
	skip_word(&at, end);
	if (!take_hex(&at, end, &m.offset))
		return;
	skip_word(&at, end);
	if (!take_hex(&at, end, &major) || at == end || *at++ != ':' || !take_hex(&at, end, &minor))
		return;
	skip_word(&at, end);
	for (; at < end && isdigit((unsigned char)*at); at++)
		ino = ino * 10 + (uint64_t)(*at - '0');
	skip_word(&at, end);
	while (end > at && isspace((unsigned char)end[-1]))
		end--;
	path = xasprintf("%.*s", (int)(end - at), at);
	m.module = import_file(a->p, path, makedev((unsigned int)major, (unsigned int)minor), ino);
	free(path);
	a->mappings = xgrow(a->mappings, &a->capacity, a->nr + 1, sizeof(*a->mappings));
	a->mappings[a->nr++] = m;
}

static int compare_mappings(const void *a, const void *b)
{
	const struct legacy_mapping *x = a, *y = b;

	return ORDER(x->start, y->start);
}

void legacy_addresses_init(struct legacy_addresses *a, struct profile *p, const char *text,
			   size_t size)
{
	const char *at = text, *end = text + size;

	*a = (struct legacy_addresses){ .p = p };
	while (at < end && a->nr < MAX_MAPPINGS) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const char *stop = newline ? newline : end;

		if (stop - at < 64 * 1024)
			add_line(a, at, stop);
		at = newline ? newline + 1 : end;
	}
	if (a->nr)
		qsort(a->mappings, a->nr, sizeof(*a->mappings), compare_mappings);
}

void legacy_addresses_fini(struct legacy_addresses *a)
{
	free(a->mappings);
	*a = (struct legacy_addresses){ 0 };
}

uint32_t legacy_frame(struct legacy_addresses *a, uint64_t address)
{
	size_t nr = SEARCH(i, a->nr, a->mappings[i].start <= address);
	const struct legacy_mapping *m = nr ? &a->mappings[nr - 1] : NULL;

	if (m && address < m->end)
		return import_unnamed_frame(a->p, m->module, address - m->start + m->offset);
	return import_unnamed_frame(a->p, PROFILE_NONE, address);
}
