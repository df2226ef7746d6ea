/*
 * Takes any bytes as the table of functions of a Go program, and asks for names, lines and inlined
 * calls all over it. The first byte chooses: the rest is the table, which also serves as the data
 * of inlined calls, or the whole ELF file.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/log.h"
#include "symbolizer/go/go_program.h"

#define NR_ADDRESSES 256
#define CALLS_MAX 64
#define TEXT 0x401000u

static void look_up(struct pclntab *table, uint64_t address)
{
	struct pclntab_function f;
	struct pclntab_call call;
	uint64_t pc = address;
	const char *file;
	uint32_t line;

	if (!pclntab_find(table, address, &f))
		return;
	if (!strlen(f.name) || address < f.start || address >= f.end)
		abort();
	for (int i = 0; i < CALLS_MAX && pclntab_inlined_call(table, &f, pc, &call); i++) {
		if (!strlen(call.name))
			abort();
		pc = call.caller_pc;
		if (pclntab_position(table, &f, pc, &file, &line) && (!strlen(file) || !line))
			abort();
	}
}

static void read_table(const uint8_t *data, size_t size)
{
	uint8_t *bytes = malloc(size + 1);
	struct pclntab table;

	memcpy(bytes, data, size);
	bytes[size] = 0;
	if (pclntab_open(bytes, size, &table)) {
		table.text = TEXT;
		table.calls = bytes;
		table.calls_size = size;
		for (uint64_t i = 0; i < NR_ADDRESSES; i++)
			look_up(&table, TEXT + i);
	}
	free(bytes);
}

static void read_file(const uint8_t *data, size_t size)
{
	struct go_program program;
	struct elf_image *image;

	if (elf_image_open_memory(data, size, &image))
		return;
	if (go_program_open(image, &program)) {
		for (uint64_t i = 0; i < NR_ADDRESSES; i++)
			look_up(&program.table, program.table.text + i * 16);
	}
	go_program_close(&program);
	elf_image_close(image);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	log_set_level(LOG_QUIET);
	if (!size)
		return 0;
	if (data[0] & 1)
		read_file(data + 1, size - 1);
	else
		read_table(data + 1, size - 1);
	return 0;
}
