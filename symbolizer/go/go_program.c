/*
 * The table lies in a section of its own, or, after a linker of C has merged sections or where
 * section headers are missing, somewhere in a segment of data. The runtime's description of the
 * program points to the table. In a position-independent file its pointers are relocations.
 */
#include "symbolizer/go/go_program.h"

#include <string.h>

#define WORD 8u
#define NOTES_MAX 4096
#define CHUNK 32768u
#define WORK_MAX (1u << 30) /* bytes that are searched, all searches together */

/* Offsets in runtime.moduledata of Go 1.16 to 1.26, and the last of Go 1.20 to 1.26. */
enum module_field {
	MODULE_TABLE = 0,
	MODULE_FIRST_PC = 20 * WORD,
	MODULE_TEXT = 22 * WORD,
	MODULE_CALLS = 40 * WORD, /* gofunc */
};

struct search {
	struct go_program *program;
	uint64_t table; /* link-time address of the table */
};

static bool is_relative(const struct elf_image *image, uint64_t info)
{
	uint32_t type = ELF64_R_TYPE(info);

	return image->machine == EM_AARCH64 ? type == R_AARCH64_RELATIVE
					    : type == R_X86_64_RELATIVE;
}

/* Takes the work of searching `size` bytes from the budget; false where too little is left. */
static bool may_search(struct go_program *program, uint64_t size)
{
	if (size > program->work)
		return false;
	program->work -= size;
	return true;
}

/*
 * Calls `visit` for each relocation that puts an address of the file itself somewhere, until it
 * returns true.
 */
static bool any_relocation(struct go_program *program,
			   bool (*visit)(void *context, const Elf64_Rela *r), void *context)
{
	struct elf_image *image = program->image;

	for (size_t i = 0; i < image->nr_sections; i++) {
		struct elf_section *section = &image->sections[i];
		const uint8_t *data;
		uint64_t size;

		if (section->type != SHT_RELA || !(section->flags & SHF_ALLOC))
			continue;
		data = elf_section_data(image, section, &size);
		if (!data || !may_search(program, size))
			continue;
		for (uint64_t j = 0; j < size / sizeof(Elf64_Rela); j++) {
			Elf64_Rela r;

			memcpy(&r, data + j * sizeof(r), sizeof(r));
			if (is_relative(image, r.r_info) && visit(context, &r))
				return true;
		}
	}
	return false;
}

static bool read_memory(const struct elf_image *image, uint64_t address, void *buf, uint64_t size)
{
	for (size_t i = 0; i < image->nr_segments; i++) {
		const Elf64_Phdr *s = &image->segments[i];
		uint64_t at = address - s->p_vaddr;

		if (s->p_type == PT_LOAD && address >= s->p_vaddr && at < s->p_filesz &&
		    s->p_filesz - at >= size)
			return elf_source_read(&image->source, s->p_offset + at, buf, size) == 0;
	}
	return false;
}

struct pointer {
	uint64_t at, value;
};

static bool is_pointer(void *context, const Elf64_Rela *r)
{
	struct pointer *p = context;

	if (r->r_offset != p->at)
		return false;
	p->value = (uint64_t)r->r_addend;
	return true;
}

/* Reads a pointer at a link-time address; 0 where it cannot be read. */
static uint64_t pointer_at(struct go_program *program, uint64_t address)
{
	struct pointer p = { .at = address };

	if (any_relocation(program, is_pointer, &p))
		return p.value;
	return read_memory(program->image, address, &p.value, sizeof(p.value)) ? p.value : 0;
}

/* Finds the data of inlined calls, which begins at that address and ends with its section. */
static void set_calls(struct go_program *program, uint64_t address)
{
	struct elf_image *image = program->image;
	struct elf_section *segment = &program->segment;

	for (size_t i = 0; i < image->nr_sections; i++) {
		struct elf_section *s = &image->sections[i];
		const uint8_t *data;
		uint64_t size;

		if (s->type != SHT_PROGBITS || !(s->flags & SHF_ALLOC) || address < s->address ||
		    address - s->address >= s->size)
			continue;
		data = elf_section_data(image, s, &size);
		if (!data || address - s->address >= size)
			return;
		program->table.calls = data + (address - s->address);
		program->table.calls_size = size - (address - s->address);
		return;
	}
	if (segment->data && address >= segment->address &&
	    address - segment->address < segment->data_size) {
		program->table.calls = segment->data + (address - segment->address);
		program->table.calls_size = segment->data_size - (address - segment->address);
	}
}

/* Accepts a description that points to the table and agrees with it on the first function. */
static bool take_module(struct search *s, uint64_t address)
{
	struct pclntab *table = &s->program->table;
	struct elf_image *image = s->program->image;
	struct pclntab_function first;
	uint64_t first_pc;

	if (pointer_at(s->program, address + MODULE_TABLE) != s->table)
		return false;
	table->text = pointer_at(s->program, address + MODULE_TEXT);
	first_pc = pointer_at(s->program, address + MODULE_FIRST_PC);
	if (!elf_image_is_code(image, table->text) || !elf_image_is_code(image, first_pc) ||
	    !pclntab_find(table, first_pc, &first) || first.start != first_pc)
		return false;
	if (table->version >= PCLNTAB_GO120)
		set_calls(s->program, pointer_at(s->program, address + MODULE_CALLS));
	return true;
}

static bool is_module(void *context, const Elf64_Rela *r)
{
	struct search *s = context;

	return (uint64_t)r->r_addend == s->table && take_module(s, r->r_offset);
}

static bool scan_segment(struct search *s, const Elf64_Phdr *segment)
{
	struct elf_image *image = s->program->image;
	uint64_t size = segment->p_filesz;
	uint8_t chunk[CHUNK];

	for (uint64_t at = 0; at < size; at += CHUNK) {
		uint64_t left = size - at < CHUNK ? size - at : CHUNK, value;

		if (!may_search(s->program, left) ||
		    elf_source_read(&image->source, segment->p_offset + at, chunk, left))
			return false;
		for (uint64_t i = 0; i + WORD <= left; i += WORD) {
			memcpy(&value, chunk + i, sizeof(value));
			if (value == s->table && take_module(s, segment->p_vaddr + at + i))
				return true;
		}
	}
	return false;
}

/* Sets where the code begins, and the data of inlined calls. */
static bool find_module(struct go_program *program, uint64_t table)
{
	struct elf_image *image = program->image;
	struct elf_section *section = elf_image_section(image, ".go.module"); /* since Go 1.26 */
	struct search s = { .program = program, .table = table };

	if ((section && take_module(&s, section->address)) ||
	    any_relocation(program, is_module, &s))
		return true;
	for (size_t i = 0; i < image->nr_segments; i++) {
		const Elf64_Phdr *segment = &image->segments[i];

		if (segment->p_type == PT_LOAD && (segment->p_flags & PF_W) &&
		    scan_segment(&s, segment))
			return true;
	}
	program->table.text = program->table.header_text;
	return program->table.version == PCLNTAB_GO116 ||
	       elf_image_is_code(image, program->table.text);
}

static bool find_in_section(struct go_program *program, const char *name)
{
	struct elf_section *section = elf_image_section(program->image, name);
	const uint8_t *data;
	uint64_t size;

	data = section ? elf_section_data(program->image, section, &size) : NULL;
	return data && pclntab_open(data, size, &program->table) &&
	       find_module(program, section->address);
}

/* Tells whether the file has a note of the Go linker, its build id. */
static bool has_go_note(struct go_program *program)
{
	const struct elf_image *image = program->image;
	static const uint8_t note[] = { 4, 0, 0, 0 }, owner[] = { 4, 0, 0, 0, 'G', 'o', 0, 0 };

	for (size_t i = 0; i < image->nr_segments; i++) {
		const Elf64_Phdr *s = &image->segments[i];
		uint8_t notes[NOTES_MAX];
		uint64_t size = s->p_filesz < NOTES_MAX ? s->p_filesz : NOTES_MAX;

		if (s->p_type != PT_NOTE || !may_search(program, size) ||
		    elf_source_read(&image->source, s->p_offset, notes, size))
			continue;
		for (uint64_t at = 0; at + 16 <= size; at += 4) {
			if (!memcmp(notes + at, note, sizeof(note)) &&
			    !memcmp(notes + at + 8, owner, sizeof(owner)))
				return true;
		}
	}
	return false;
}

static bool find_in_segment(struct go_program *program, const Elf64_Phdr *segment)
{
	static const uint8_t magic_end[] = { 0xff, 0xff, 0xff, 0, 0 };
	struct elf_section *s = &program->segment;
	const uint8_t *data;
	uint64_t size;

	*s = (struct elf_section){
		.name = "",
		.type = SHT_PROGBITS,
		.flags = SHF_ALLOC,
		.address = segment->p_vaddr,
		.offset = segment->p_offset,
		.size = segment->p_filesz,
	};
	data = elf_section_data(program->image, s, &size);
	if (data && !may_search(program, size))
		data = NULL;
	for (uint64_t at = 0; data && at + WORD <= size; at += WORD) {
		if (memcmp(data + at + 1, magic_end, sizeof(magic_end)) != 0 ||
		    !pclntab_open(data + at, size - at, &program->table))
			continue;
		if (find_module(program, s->address + at))
			return true;
	}
	elf_section_unload(program->image, s);
	return false;
}

bool go_program_open(struct elf_image *image, struct go_program *ret_program)
{
	*ret_program = (struct go_program){ .image = image, .work = WORK_MAX };
	if (find_in_section(ret_program, ".gopclntab") ||
	    find_in_section(ret_program, ".data.rel.ro.gopclntab"))
		return true;
	if (!has_go_note(ret_program))
		return false;
	for (size_t i = 0; i < image->nr_segments; i++) {
		const Elf64_Phdr *s = &image->segments[i];

		if (s->p_type == PT_LOAD && !(s->p_flags & PF_X) && find_in_segment(ret_program, s))
			return true;
	}
	return false;
}

void go_program_close(struct go_program *program)
{
	elf_section_unload(program->image, &program->segment);
}
