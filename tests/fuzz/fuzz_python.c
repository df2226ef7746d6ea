/*
 * Reads what is read of Python: a line table and the record of a code object, both from a process,
 * the ELF file of an interpreter, and the answer of the child that decodes records. The first byte
 * chooses.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/portable/pycode.h"
#include "core/profile/profile.h"
#include "core/profile/source.h"
#include "sampler/runtimes/python/code_decode.h"
#include "sampler/runtimes/python/code_objects.h"
#include "sampler/runtimes/python/interpreter.h"
#include "sampler/runtimes/python/line_table.h"

static void read_lines(const uint8_t *data, size_t size)
{
	static struct line_run runs[256];

	for (unsigned int minor = 8; minor < 16; minor++) {
		size_t nr = python_lines(minor, data, size, 1, runs, 256);

		for (size_t i = 0; i < nr; i++)
			if (runs[i].line > INT32_MAX || runs[i].end <= (i ? runs[i - 1].end : 0))
				abort();
		for (uint32_t at = 0; at < 64; at += 2)
			if (python_line(runs, nr, at) > INT32_MAX)
				abort();
	}
}

/* What a child that was taken over may answer. */
static void read_answer(const uint8_t *data, size_t size)
{
	struct decoded_code code;

	if (decoded_code_take(data, size, &code))
		decoded_code_fini(&code);
}

static void read_code(const uint8_t *data, size_t size)
{
	size_t padded = size < sizeof(struct code_record) ? sizeof(struct code_record) : size;
	struct code_record *e = xcalloc(1, padded);
	struct python_codes *codes = python_codes_new(NULL);
	struct profile *p = profile_new();
	struct sink *sink = profile_sink_new(p);

	memcpy(e, data, size);
	python_codes_add(codes, 1, e, padded);
	e->id &= CODE_ID_MASK;
	for (uint64_t at = 0; at < 8; at++)
		python_codes_frame(codes, sink, FRAME_PYTHON | e->id << CODE_POSITION_BITS | at);
	profile_sink_free(sink);
	profile_free(p);
	python_codes_free(codes);
	free(e);
}

static void read_elf(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct py_layout layout;
	char why[200];

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	if (python_elf_read(fd, &layout, why, sizeof(why)) == PYTHON_ELF_FOUND &&
	    (layout.frame_size >= PY_WORDS * 8 || layout.code_size >= PY_WORDS * 8))
		abort();
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	switch (data[0] % 4) {
	case 0: read_lines(data + 1, size - 1); break;
	case 1: read_code(data + 1, size - 1); break;
	case 2: read_elf(data + 1, size - 1); break;
	case 3: read_answer(data + 1, size - 1); break;
	}
	return 0;
}
