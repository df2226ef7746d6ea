/*
 * A hash table by number. Names keep the target's form until a stack needs them: an import runs
 * many code objects once and never again.
 */
#include "sampler/runtimes/python/code_objects.h"

#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/portable/pycode.h"
#include "core/profile/source.h"
#include "sampler/runtimes/python/line_table.h"

#define MAX_CODES (1u << 18)
#define MAX_BYTES (64u << 20) /* bounds a hostile target; PyTorch needs 25 MB */

struct python_code {
	uint64_t id;
	struct code_string name, file;
	uint32_t first_line;
	uint32_t module; /* sink id; PROFILE_NONE until a stack needs it */
	unsigned int minor;
	size_t linetable_size;
	UT_hash_handle hh;
	uint8_t linetable[];
};

struct python_codes {
	struct python_code *by_id;
	size_t nr_bytes;
};

struct python_codes *python_codes_new(void)
{
	return xcalloc(1, sizeof(struct python_codes));
}

static void forget_all(struct python_codes *codes)
{
	struct python_code *code, *next;

	HASH_ITER (hh, codes->by_id, code, next) {
		HASH_DEL(codes->by_id, code);
		free(code);
	}
	codes->nr_bytes = 0;
}

void python_codes_free(struct python_codes *codes)
{
	if (!codes)
		return;
	forget_all(codes);
	free(codes);
}

bool python_codes_add(struct python_codes *codes, const struct code_record *e, size_t size)
{
	struct python_code *code;
	size_t copied;
	bool kept = true;

	if (size < sizeof(*e))
		return true;
	copied = size - sizeof(*e);
	if (copied > e->linetable_copied)
		copied = e->linetable_copied;
	HASH_FIND(hh, codes->by_id, &e->id, sizeof(e->id), code);
	if (code) {
		codes->nr_bytes -= sizeof(*code) + code->linetable_size;
		HASH_DEL(codes->by_id, code);
		free(code);
	}
	if (HASH_COUNT(codes->by_id) >= MAX_CODES ||
	    codes->nr_bytes + sizeof(*code) + copied > MAX_BYTES) {
		forget_all(codes);
		kept = false;
	}
	code = xcalloc(1, sizeof(*code) + copied);
	code->id = e->id;
	code->name = e->name;
	code->file = e->file;
	code->first_line = e->first_line;
	code->module = PROFILE_NONE;
	code->minor = e->minor;
	code->linetable_size = copied;
	memcpy(code->linetable, e + 1, copied);
	codes->nr_bytes += sizeof(*code) + copied;
	HASH_ADD(hh, codes->by_id, id, sizeof(code->id), code);
	return kept;
}

/* ---- strings: from CPython's three widths to UTF-8 */

static void add_utf8(struct buffer *b, uint32_t c)
{
	if (c < 0x80) {
		buffer_add_char(b, (char)c);
	} else if (c < 0x800) {
		buffer_add_char(b, (char)(0xc0 | c >> 6));
		buffer_add_char(b, (char)(0x80 | (c & 63)));
	} else if (c < 0x10000) {
		buffer_add_char(b, (char)(0xe0 | c >> 12));
		buffer_add_char(b, (char)(0x80 | (c >> 6 & 63)));
		buffer_add_char(b, (char)(0x80 | (c & 63)));
	} else {
		buffer_add_char(b, (char)(0xf0 | (c >> 18 & 7)));
		buffer_add_char(b, (char)(0x80 | (c >> 12 & 63)));
		buffer_add_char(b, (char)(0x80 | (c >> 6 & 63)));
		buffer_add_char(b, (char)(0x80 | (c & 63)));
	}
}

void code_string_add_text(struct buffer *b, const struct code_string *s)
{
	size_t width = s->form & ~CODE_STRING_ASCII, size = s->size, before = b->size;

	if (size > CODE_NAME_SIZE || (width != 1 && width != 2 && width != 4))
		size = 0;
	if (s->cut)
		buffer_add_string(b, "\xe2\x80\xa6");
	for (size_t i = 0; i + width <= size && width; i += width) {
		uint32_t c = 0;

		memcpy(&c, s->text + i, width);
		if (c)
			add_utf8(b, c);
	}
	if (b->size == before)
		buffer_add_string(b, "[unknown]");
}

static uint32_t intern_string(struct sink *sink, const struct code_string *s)
{
	struct buffer b = { 0 };
	uint32_t id;

	code_string_add_text(&b, s);
	id = sink->string(sink, b.data, b.size);
	buffer_fini(&b);
	return id;
}

static uint32_t module_of(struct python_code *code, struct sink *sink)
{
	struct profile_module m = { .kind = MODULE_PYTHON };

	if (code->module == PROFILE_NONE) {
		m.path = intern_string(sink, &code->file);
		m.code_name = intern_string(sink, &code->name);
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
	line = python_line(code->minor, code->linetable, code->linetable_size, code->first_line,
			   position);
	return sink->frame(sink, module_of(code, sink), line);
}
