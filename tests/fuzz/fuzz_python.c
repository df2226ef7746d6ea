/*
 * Reads what the recorder reads of Python: a line table and the record of a code object, both from
 * a process, and the ELF file of an interpreter. The first byte chooses.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/portable/pycode.h"
#include "core/profile/profile.h"
#include "core/profile/memory_sink.h"
#include "core/profile/source.h"
#include "sampler/runtimes/python/code_objects.h"
#include "sampler/runtimes/python/interpreter.h"
#include "sampler/runtimes/python/line_table.h"

static void read_lines(const uint8_t *data, size_t size)
{
	for (unsigned int minor = 8; minor < 16; minor++)
		for (uint32_t at = 0; at < 64; at += 2)
			if (python_line(minor, data, size, 1, at) > INT32_MAX)
				abort();
}

static void read_code(const uint8_t *data, size_t size)
{
	size_t padded = size < sizeof(struct code_record) ? sizeof(struct code_record) : size;
	struct code_record *e = xcalloc(1, padded);
	struct python_codes *codes = python_codes_new();
	struct profile *p = profile_new();
	struct sink *sink = profile_sink_new(p);

	memcpy(e, data, size);
	python_codes_add(codes, e, padded);
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
	switch (data[0] % 3) {
	case 0: read_lines(data + 1, size - 1); break;
	case 1: read_code(data + 1, size - 1); break;
	case 2: read_elf(data + 1, size - 1); break;
	}
	return 0;
}
