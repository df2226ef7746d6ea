/*
 * A dump holds the code itself and may be large. Only the ranges of its records are kept;
 * everything else is read again for the records that matter. The latest record of an address
 * counts, so addresses are claimed from the last record to the first.
 */
#include "symbolizer/runtime/jitdump.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/profile/intern.h"
#include "symbolizer/lookup/address_claim.h"
#include "core/base/cursor.h"
#include "symbolizer/lookup/string_pool.h"

#define MAGIC 0x4a695444 /* "JiTD", in the byte order of the machine that wrote it */
#define FILE_SIZE_MAX (4ull << 30)
#define RANGES_MAX (4u << 20)
#define NAME_SIZE_MAX 65536
#define LINES_SIZE_MAX (1u << 20) /* bytes of one function's line numbers */
#define WORK_MAX (256ull << 20)	  /* bytes of line numbers read in all */
#define WINDOW_SIZE 65536

enum { CODE_LOAD = 0, CODE_MOVE = 1, CODE_DEBUG_INFO = 2 };

#define HEADER_SIZE 40
#define RECORD_SIZE 16 /* id, size, time */
#define LOAD_SIZE 56   /* record, pid, tid, vma, address, size, index */
#define MOVE_SIZE 64   /* record, pid, tid, vma, old address, new address, size, index */
#define DEBUG_SIZE 32  /* record, address, number of entries */
#define NO_CODE UINT32_MAX

/* Code that the compiler wrote, as its load record describes it. */
struct compiled_code {
	uint64_t start, size; /* where it was loaded */
	uint64_t name;	      /* offset in the file */
	uint64_t lines;	      /* offset of the record with its line numbers; 0 = none */
};

/* Where a piece of code was, from one record on. */
struct range {
	uint64_t start, size;
	uint32_t code;
};

struct jitdump {
	struct address_claim claim; /* owners are ranges */
	struct jitdump_code *codes; /* by address */
	size_t nr_reused;
	struct string_pool strings;
};

/* The state while a dump is read. */
struct reader {
	int fd;
	uint64_t size;
	struct compiled_code *codes;
	struct range *ranges;
	size_t nr_codes, codes_capacity, nr_ranges, ranges_capacity;
	/* Maps the compiler's number of a piece of code to the latest code with it. */
	struct intern numbers_index;
	struct {
		uint64_t number;
		uint32_t code;
	} * numbers;
	size_t nr_numbers, numbers_capacity;
	uint64_t pending_lines; /* offset of the line numbers of the next code; 0 = none */
	uint64_t work;
	uint8_t window[WINDOW_SIZE];
	uint64_t window_at;
	size_t window_size;
};

/*
 * Reads `size` bytes (at most WINDOW_SIZE) at an offset; the cursor is bad where the file ends
 * before.
 */
static struct cursor bytes_at(struct reader *r, uint64_t at, size_t size)
{
	ssize_t n;

	if (at > r->size || size > r->size - at || size > WINDOW_SIZE)
		return (struct cursor){ .bad = true };
	if (at < r->window_at || at + size > r->window_at + r->window_size) {
		n = pread(r->fd, r->window, WINDOW_SIZE, (off_t)at);
		r->window_at = at;
		r->window_size = n > 0 ? (size_t)n : 0;
	}
	if (size > r->window_size)
		return (struct cursor){ .bad = true };
	return cursor_at(r->window + (at - r->window_at), size, 0);
}

static bool number_equal(const void *owner, uint32_t id, const void *key)
{
	const struct reader *r = owner;

	return r->numbers[id].number == *(const uint64_t *)key;
}

/* The latest code with a number; *result is NO_CODE where the number is new. */
static uint32_t *code_of_number(struct reader *r, uint64_t number)
{
	uint32_t next = (uint32_t)r->nr_numbers, id;

	id = intern_id(&r->numbers_index, (uint32_t)(number * 0x9e3779b97f4a7c15u >> 32), next,
		       number_equal, r, &number);
	if (id == next) {
		r->numbers = xgrow(r->numbers, &r->numbers_capacity, r->nr_numbers + 1,
				   sizeof(*r->numbers));
		r->numbers[r->nr_numbers].number = number;
		r->numbers[r->nr_numbers++].code = NO_CODE;
	}
	return &r->numbers[id].code;
}

static void add_range(struct reader *r, uint64_t start, uint64_t size, uint32_t code)
{
	if (!size || start + size < start)
		return;
	r->ranges = xgrow(r->ranges, &r->ranges_capacity, r->nr_ranges + 1, sizeof(*r->ranges));
	r->ranges[r->nr_ranges++] = (struct range){ start, size, code };
}

static void read_load(struct reader *r, struct cursor *c, uint64_t at)
{
	struct compiled_code code = { .name = at + LOAD_SIZE, .lines = r->pending_lines };
	uint32_t id = (uint32_t)r->nr_codes;

	cursor_skip(c, 16); /* pid, tid, vma */
	code.start = cursor_u64(c);
	code.size = cursor_u64(c);
	*code_of_number(r, cursor_u64(c)) = id;
	r->pending_lines = 0;
	r->codes = xgrow(r->codes, &r->codes_capacity, r->nr_codes + 1, sizeof(*r->codes));
	r->codes[r->nr_codes++] = code;
	add_range(r, code.start, code.size, id);
}

static void read_move(struct reader *r, struct cursor *c)
{
	uint64_t start, size;
	uint32_t code;

	cursor_skip(c, 24); /* pid, tid, vma, old address */
	start = cursor_u64(c);
	size = cursor_u64(c);
	code = *code_of_number(r, cursor_u64(c));
	if (code != NO_CODE)
		add_range(r, start, size, code);
}

/* Reads the record at `at`; returns its size, or 0 at the end. */
static uint64_t read_record(struct reader *r, uint64_t at)
{
	struct cursor c = bytes_at(r, at, RECORD_SIZE);
	uint32_t id = cursor_u32(&c), size = cursor_u32(&c);

	if (c.bad || size < RECORD_SIZE || size > r->size - at)
		return 0;
	if (id == CODE_LOAD && size > LOAD_SIZE) {
		c = bytes_at(r, at, LOAD_SIZE);
		cursor_skip(&c, RECORD_SIZE);
		if (!c.bad)
			read_load(r, &c, at);
	} else if (id == CODE_MOVE && size >= MOVE_SIZE) {
		c = bytes_at(r, at, MOVE_SIZE);
		cursor_skip(&c, RECORD_SIZE);
		if (!c.bad)
			read_move(r, &c);
	} else if (id == CODE_DEBUG_INFO && size >= DEBUG_SIZE) {
		r->pending_lines = at;
	}
	return size;
}

static int read_records(struct reader *r)
{
	struct cursor c = bytes_at(r, 0, HEADER_SIZE);
	uint64_t at, size;

	if (cursor_u32(&c) != MAGIC || cursor_u32(&c) != 1)
		return -ENOEXEC;
	at = cursor_u32(&c);
	if (c.bad || at < HEADER_SIZE)
		return -ENOEXEC;
	while (r->nr_ranges < RANGES_MAX && (size = read_record(r, at)))
		at += size;
	return 0;
}

/* Reads a string of at most NAME_SIZE_MAX bytes; NULL where it is empty or does not end. */
static const char *string_at(struct jitdump *d, struct reader *r, uint64_t at)
{
	uint64_t left = at < r->size ? r->size - at : 0;
	struct cursor c = bytes_at(r, at, left < NAME_SIZE_MAX ? left : NAME_SIZE_MAX);
	const char *s = cursor_string(&c);

	return s && *s ? string_pool_add(&d->strings, s) : NULL;
}

/* The line numbers of one function, as in the dump. */
struct lines {
	uint8_t *bytes;
	uint64_t size;
	uint32_t code; /* the code they belong to; NO_CODE = none */
};

/*
 * V8 shifts the addresses by the size of an ELF header, because perf inject puts the code behind
 * one (kElfHeaderSize in its src/diagnostics/perf-jit.cc). V8 is recognised by the names of its
 * functions.
 */
static uint64_t address_shift(const char *name)
{
	static const char *const kinds[] = { "JS:", "Script:", "Eval:", "Function:",
					     "LazyCompile:" };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (!strncmp(name, kinds[i], strlen(kinds[i])))
			return 64;
	}
	return 0;
}

static bool is_path(const char *s)
{
	for (; *s; s++) {
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			return false;
	}
	return true;
}

/*
 * Finds the file that the code begins in, and the line at an offset, or 0 where that is in another
 * file. Returns false where an entry makes no sense: some versions of V8 write freed memory for
 * names.
 */
static bool find_line(const struct lines *lines, const struct compiled_code *code, uint64_t shift,
		      uint64_t offset, const char **ret_file, uint32_t *ret_line)
{
	struct cursor c = cursor_at(lines->bytes, lines->size, RECORD_SIZE);
	const char *first = NULL, *file = NULL;
	uint64_t nr, last = 0;
	uint32_t found = 0;

	cursor_skip(&c, 8); /* the code's address */
	nr = cursor_u64(&c);
	for (uint64_t i = 0; i < nr; i++) {
		uint64_t at = cursor_u64(&c) - code->start - shift;
		uint32_t line = cursor_u32(&c);
		const char *name;

		cursor_skip(&c, 4); /* discriminator, or column */
		name = cursor_string(&c);
		if (c.bad || at > code->size || line > INT32_MAX)
			return false;
		if (strcmp(name, "\xff")) /* the same file as before */
			file = name;
		if (!file || !*file || !is_path(file))
			return false;
		first = first ? first : file;
		if (at <= offset && at >= last) {
			last = at;
			found = strcmp(file, first) ? 0 : line;
		}
	}
	*ret_file = first;
	*ret_line = found;
	return true;
}

/* Reads the line numbers of a piece of code, unless they are already in memory. */
static bool load_lines(struct reader *r, struct lines *lines, uint32_t id)
{
	const struct compiled_code *code = &r->codes[id];
	struct cursor c;
	uint64_t size;

	if (lines->code == id)
		return lines->size;
	lines->code = id;
	lines->size = 0;
	if (!code->lines)
		return false;
	c = bytes_at(r, code->lines, RECORD_SIZE);
	cursor_skip(&c, 4);
	size = cursor_u32(&c);
	if (c.bad || size > LINES_SIZE_MAX)
		return false;
	if (!lines->bytes)
		lines->bytes = xmalloc(LINES_SIZE_MAX);
	if (pread(r->fd, lines->bytes, size, (off_t)code->lines) != (ssize_t)size)
		return false;
	lines->size = size;
	return true;
}

static void describe(struct jitdump *d, struct reader *r, struct lines *lines, size_t i)
{
	const struct range *range = &r->ranges[d->claim.owners[i]];
	struct jitdump_code *out = &d->codes[i];
	const char *file;
	uint32_t line;

	out->name = string_at(d, r, r->codes[range->code].name);
	if (!out->name || !load_lines(r, lines, range->code) || r->work > WORK_MAX)
		return;
	r->work += lines->size;
	if (!find_line(lines, &r->codes[range->code], address_shift(out->name),
		       d->claim.addresses[i] - range->start, &file, &line)) {
		lines->size = 0;
		return;
	}
	if (file) {
		out->file = string_pool_add(&d->strings, file);
		out->line = line;
	}
}

/* Counts the addresses that an earlier range of other code covers as well. */
static size_t count_reused(const struct jitdump *d, const struct reader *r)
{
	struct address_claim first = { 0 };
	size_t nr = 0;

	address_claim_init(&first, d->claim.addresses, d->claim.nr);
	for (size_t i = 0; i < r->nr_ranges; i++)
		address_claim_take(&first, r->ranges[i].start, r->ranges[i].size, (uint32_t)i);
	for (size_t i = 0; i < first.nr; i++)
		nr += first.owners[i] != ADDRESS_UNCLAIMED &&
		      r->ranges[first.owners[i]].code != r->ranges[d->claim.owners[i]].code;
	address_claim_fini(&first);
	return nr;
}

static void answer(struct jitdump *d, struct reader *r, const uint64_t *addresses, size_t nr)
{
	struct lines lines = { .code = NO_CODE };

	address_claim_init(&d->claim, addresses, nr);
	d->codes = xcalloc(nr, sizeof(*d->codes));
	for (size_t i = r->nr_ranges; i--;)
		address_claim_take(&d->claim, r->ranges[i].start, r->ranges[i].size, (uint32_t)i);
	for (size_t i = 0; i < nr; i++) {
		if (d->claim.owners[i] != ADDRESS_UNCLAIMED)
			describe(d, r, &lines, i);
	}
	d->nr_reused = count_reused(d, r);
	free(lines.bytes);
}

int jitdump_read(int fd, const uint64_t *addresses, size_t nr, struct jitdump **ret_dump)
{
	struct reader *r = xcalloc(1, sizeof(*r));
	struct stat st;
	int err;

	r->fd = fd;
	err = fstat(fd, &st) ? -errno : 0;
	if (!err && (uint64_t)st.st_size > FILE_SIZE_MAX)
		err = -EFBIG;
	if (!err) {
		r->size = (uint64_t)st.st_size;
		err = read_records(r);
	}
	if (!err) {
		*ret_dump = xcalloc(1, sizeof(**ret_dump));
		answer(*ret_dump, r, addresses, nr);
	}
	close(fd);
	intern_fini(&r->numbers_index);
	free(r->numbers);
	free(r->codes);
	free(r->ranges);
	free(r);
	return err;
}

void jitdump_free(struct jitdump *dump)
{
	if (!dump)
		return;
	address_claim_fini(&dump->claim);
	string_pool_fini(&dump->strings);
	free(dump->codes);
	free(dump);
}

const struct jitdump_code *jitdump_lookup(const struct jitdump *dump, uint64_t address)
{
	size_t i = address_claim_find(&dump->claim, address);

	return i < dump->claim.nr && dump->codes[i].name ? &dump->codes[i] : NULL;
}

size_t jitdump_nr_reused(const struct jitdump *dump)
{
	return dump->nr_reused;
}
