/*
 * The kernel maps the same image into every process: symbols are read from ours, the address from
 * /proc/PID/maps.
 */
#include "sampler/timer/vdso.h"

#include <elf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/target/mapped_file.h"
#include "sampler/target/proc_maps.h"

/* The kernel made this image, so its contents are trusted. */
static uint64_t vdso_symbol(const char *name)
{
	size_t size;
	const char *image = file_table_vdso_image(&size);
	const Elf64_Ehdr *ehdr = (const void *)image;
	const Elf64_Shdr *sections;

	if (!image || !ehdr->e_shoff || ehdr->e_shoff + ehdr->e_shnum * sizeof(*sections) > size)
		return 0;
	sections = (const void *)(image + ehdr->e_shoff);
	for (size_t i = 0; i < ehdr->e_shnum; i++) {
		const Elf64_Shdr *section = &sections[i];
		const Elf64_Sym *symbols = (const void *)(image + section->sh_offset);
		const char *names;

		if (section->sh_type != SHT_DYNSYM || section->sh_link >= ehdr->e_shnum)
			continue;
		names = image + sections[section->sh_link].sh_offset;
		for (size_t j = 0; j < section->sh_size / sizeof(*symbols); j++)
			if (!strcmp(names + symbols[j].st_name, name))
				return symbols[j].st_value;
	}
	return 0;
}

static uint64_t vdso_start(pid_t pid)
{
	char path[64], *line = NULL;
	uint64_t start = 0;
	size_t size = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	f = fopen(path, "re");
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

uint64_t timer_vdso_address(pid_t pid, const char *name)
{
	uint64_t offset = vdso_symbol(name), start = offset ? vdso_start(pid) : 0;

	return start ? start + offset : 0;
}
