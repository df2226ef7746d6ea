/*
 * The kernel maps the same image into every process: symbols are read from ours, the address from
 * /proc/PID/maps.
 */
#include "sampler/target/vdso.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/elf_file.h"
#include "core/untrusted/remote_read.h"
#include "sampler/target/mapped_file.h"
#include "sampler/target/proc_maps.h"

static uint64_t find_symbol(struct elf_image *image, struct elf_section *section, const char *name)
{
	struct elf_symbol_table table;
	const char *found;
	Elf64_Sym symbol;

	if (section->type != SHT_DYNSYM || !elf_symbol_table_read(image, section, &table))
		return 0;
	for (size_t i = 0; i < table.nr; i++)
		if (elf_symbol_table_get(&table, i, &symbol, &found) && !strcmp(found, name))
			return symbol.st_value;
	return 0;
}

static uint64_t vdso_symbol(const char *name)
{
	size_t size = 0;
	const void *bytes = file_table_vdso_image(&size);
	struct elf_image *image;
	uint64_t value = 0;

	if (!bytes || elf_image_open_memory(bytes, size, &image))
		return 0;
	for (size_t i = 0; i < image->nr_sections && !value; i++)
		value = find_symbol(image, &image->sections[i], name);
	elf_image_close(image);
	return value;
}

static uint64_t vdso_start(pid_t pid)
{
	char *line = NULL;
	uint64_t start = 0;
	size_t size = 0;
	FILE *f = remote_open(pid, "maps");

	if (!f)
		return 0;
	while (!start && getline(&line, &size, f) > 0) {
		struct file_mapping m = { 0 };
		bool executable;

		if (proc_maps_parse(line, &m, &executable) && executable &&
		    mapping_backing(m.path, m.ino) == BACKING_VDSO)
			start = m.start;
	}
	free(line);
	fclose(f);
	return start;
}

uint64_t vdso_address(pid_t pid, const char *name)
{
	uint64_t offset = vdso_symbol(name), start = offset ? vdso_start(pid) : 0;

	return start ? start + offset : 0;
}
