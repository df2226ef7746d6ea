/*
 * A hash table by number, and a list of each process's. A record keeps the target's form until a
 * stack needs it: an import runs many code objects once and never again. Then a child process
 * decodes it (code_reader.h).
 */
#include "sampler/runtimes/python/code_objects.h"

#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/hash_table.h"
#include "core/portable/pycode.h"
#include "core/profile/source.h"
#include "sampler/runtimes/python/code_decode.h"
#include "sampler/runtimes/python/code_reader.h"
#include "sampler/runtimes/python/line_table.h"

#define MAX_CODES (1u << 18)
#define MAX_BYTES (64u << 20) /* bounds a hostile target; PyTorch needs 25 MB */

enum code_state {
	WAITING, /* `record` was not needed yet */
	ALONE,	 /* it is to be decoded without others */
	DECODED,
	UNREADABLE,
};

/* The code objects of a process, in the order in which they came; never empty. */
struct code_group {
	uint64_t id;
	struct python_code *codes;
	uint64_t due_ns;		/* when it is forgotten; 0: the process has not ended */
	struct code_group *prev, *next; /* in the list of those that have ended */
	UT_hash_handle hh;
};

struct python_code {
	uint64_t id;
	struct code_group *group;
	struct python_code *prev, *next; /* of the group */
	enum code_state state;
	uint32_t first_line;
	uint32_t module; /* sink id; PROFILE_NONE until a stack needs it */
	struct code_record *record;
	size_t record_size;
	size_t nr_bytes;
	struct decoded_code decoded;
	UT_hash_handle hh;
};

struct python_codes {
	struct code_reader *reader;
	struct python_code *by_id;
	struct code_group *groups; /* of processes that have not ended */
	struct code_group *ended;  /* in the order in which they are due */
	size_t nr_bytes;
};

struct python_codes *python_codes_new(struct code_reader *reader)
{
	struct python_codes *codes = xcalloc(1, sizeof(*codes));

	codes->reader = reader;
	return codes;
}

static struct code_group *group_of(struct python_codes *codes, uint64_t id)
{
	struct code_group *group;

	HASH_FIND(hh, codes->groups, &id, sizeof(id), group);
	if (!group) {
		group = xcalloc(1, sizeof(*group));
		group->id = id;
		HASH_ADD(hh, codes->groups, id, sizeof(group->id), group);
	}
	return group;
}

static void leave_group(struct python_codes *codes, struct python_code *code)
{
	struct code_group *group = code->group;

	DL_DELETE(group->codes, code);
	if (group->codes)
		return;
	if (group->due_ns)
		DL_DELETE(codes->ended, group);
	else
		HASH_DEL(codes->groups, group);
	free(group);
}

static void forget(struct python_codes *codes, struct python_code *code)
{
	leave_group(codes, code);
	HASH_DEL(codes->by_id, code);
	codes->nr_bytes -= code->nr_bytes;
	if (code->state == DECODED)
		decoded_code_fini(&code->decoded);
	free(code->record);
	free(code);
}

static void forget_all(struct python_codes *codes)
{
	struct python_code *code, *next;

	HASH_ITER (hh, codes->by_id, code, next)
		forget(codes, code);
}

void python_codes_free(struct python_codes *codes)
{
	if (!codes)
		return;
	forget_all(codes);
	free(codes);
}

void python_codes_forget_ids(struct python_codes *codes)
{
	for (struct python_code *code = codes->by_id; code; code = code->hh.next)
		code->module = PROFILE_NONE;
}

bool python_codes_add(struct python_codes *codes, uint64_t group, const struct code_record *e,
		      size_t size)
{
	struct python_code *code;
	size_t copied, nr_bytes;
	bool kept = true;

	if (size < sizeof(*e))
		return true;
	copied = size - sizeof(*e);
	if (copied > e->linetable_copied)
		copied = e->linetable_copied;
	if (copied > CODE_MAX_LINETABLE)
		copied = CODE_MAX_LINETABLE;
	HASH_FIND(hh, codes->by_id, &e->id, sizeof(e->id), code);
	if (code)
		forget(codes, code);
	nr_bytes = sizeof(*code) + sizeof(*e) + copied;
	if (HASH_COUNT(codes->by_id) >= MAX_CODES || codes->nr_bytes + nr_bytes > MAX_BYTES) {
		forget_all(codes);
		kept = false;
	}
	code = xcalloc(1, sizeof(*code));
	code->id = e->id;
	code->group = group_of(codes, group);
	DL_APPEND(code->group->codes, code);
	code->first_line = e->first_line;
	code->module = PROFILE_NONE;
	code->record_size = sizeof(*e) + copied;
	code->record = xmalloc(code->record_size);
	memcpy(code->record, e, code->record_size);
	code->nr_bytes = nr_bytes;
	codes->nr_bytes += nr_bytes;
	HASH_ADD(hh, codes->by_id, id, sizeof(code->id), code);
	return kept;
}

void python_codes_end(struct python_codes *codes, uint64_t id)
{
	struct code_group *group;

	HASH_FIND(hh, codes->groups, &id, sizeof(id), group);
	if (!group)
		return;
	HASH_DEL(codes->groups, group);
	group->due_ns = monotonic_ns() + PYTHON_CODES_KEPT_NS;
	DL_APPEND(codes->ended, group);
}

void python_codes_tidy(struct python_codes *codes, uint64_t now_ns)
{
	while (codes->ended && now_ns >= codes->ended->due_ns)
		forget(codes, codes->ended->codes);
}

static void set_size(struct python_codes *codes, struct python_code *code, size_t size)
{
	codes->nr_bytes += size - code->nr_bytes;
	code->nr_bytes = size;
}

static void set_decoded(struct python_codes *codes, struct python_code *code,
			const struct decoded_code *decoded)
{
	const struct decoded_code *d = decoded;

	code->state = DECODED;
	code->decoded = *d;
	set_size(codes, code,
		 sizeof(*code) + d->name_size + d->file_size + d->nr_runs * sizeof(*d->runs));
	free(code->record);
	code->record = NULL;
}

static void set_unreadable(struct python_codes *codes, struct python_code *code)
{
	static const struct decoded_code nothing = {
		.name = (char *)PYTHON_UNREADABLE,
		.name_size = sizeof(PYTHON_UNREADABLE) - 1,
	};

	set_decoded(codes, code, &nothing);
	code->state = UNREADABLE;
	code->first_line = 0;
}

/*
 * Decodes a record and those that came after it, which are likely to be needed next. A record that
 * the child dies of is found by asking for each alone.
 */
static void decode(struct python_codes *codes, struct python_code *code)
{
	struct python_code *batch[CODE_BATCH], *c = code;
	struct code_bytes bytes[CODE_BATCH];
	struct decoded_code decoded[CODE_BATCH];
	size_t nr = 0, size = 0;
	int err;

	do {
		bytes[nr] = (struct code_bytes){ c->record, c->record_size };
		batch[nr++] = c;
		size += c->record_size;
		c = c->next;
	} while (c && nr < CODE_BATCH && c->state == WAITING && code->state == WAITING &&
		 size + c->record_size <= CODE_BATCH_BYTES);
	err = code_reader_read(codes->reader, code->group->id, bytes, nr, decoded);
	for (size_t i = 0; i < nr; i++) {
		if (!err)
			set_decoded(codes, batch[i], &decoded[i]);
		else if (nr == 1)
			set_unreadable(codes, batch[i]);
		else
			batch[i]->state = ALONE;
	}
	if (code->state == ALONE)
		decode(codes, code);
}

static uint32_t module_of(struct python_code *code, struct sink *sink)
{
	const struct decoded_code *d = &code->decoded;
	struct profile_module m = { .kind = MODULE_PYTHON };

	if (code->module == PROFILE_NONE) {
		m.path = sink->string(sink, d->file ? d->file : "", d->file_size);
		m.code_name = sink->string(sink, d->name ? d->name : "", d->name_size);
		m.code_line = code->first_line;
		code->module = sink->module(sink, &m);
	}
	return code->module;
}

static struct python_code *code_of(const struct python_codes *codes, uint64_t frame)
{
	uint64_t id = frame >> CODE_POSITION_BITS & CODE_ID_MASK;
	struct python_code *code;

	HASH_FIND(hh, codes->by_id, &id, sizeof(id), code);
	return code;
}

bool python_codes_know(const struct python_codes *codes, uint64_t frame)
{
	return code_of(codes, frame) != NULL;
}

uint32_t python_codes_frame(struct python_codes *codes, struct sink *sink, uint64_t frame)
{
	struct python_code *code = code_of(codes, frame);
	uint32_t position = (uint32_t)(frame & CODE_POSITION_MASK) * 2, line;

	if (!code)
		return PROFILE_NONE;
	if (code->state == WAITING || code->state == ALONE)
		decode(codes, code);
	line = python_line(code->decoded.runs, code->decoded.nr_runs, position);
	return sink->frame(sink, module_of(code, sink), line);
}
