/*
 * Makes small ELF images in memory whose .eh_frame holds what a test puts there: text at
 * MAKER_TEXT, one CIE "zR" (absolute 8-byte pointers unless the test changes that), then FDEs. What
 * is put behind maker_begin_debug_frame() is .debug_frame.
 */
#ifndef SPROF_TESTS_CFI_MAKER_H
#define SPROF_TESTS_CFI_MAKER_H

#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MAKER_TEXT 0x10000u
#define MAKER_TEXT_SIZE 0x4000u
#define MAKER_EH_FRAME 0x8000u /* offset in the file; its vaddr is the same + 0x100000 */
#define MAKER_MAX_SIZE 0x40000u

/* The layout: headers at 0, text at offset 0x1000, names at 0x6000, sections at 0x6100. */
struct cfi_maker {
	uint8_t *image;
	size_t size;  /* grows with .eh_frame */
	uint64_t cie; /* offset of the newest CIE in the file */
	const char *augmentation;
	uint8_t encoding;
	size_t debug_frame; /* where it begins in the file; 0: there is none */
};

#define BYTES(...) (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ })

static inline void maker_put(struct cfi_maker *m, const void *data, size_t size)
{
	if (m->size + size > MAKER_MAX_SIZE)
		abort();
	memcpy(m->image + m->size, data, size);
	m->size += size;
}

static inline void maker_put_number(struct cfi_maker *m, uint64_t value, size_t size)
{
	maker_put(m, &value, size);
}

/* .eh_frame ends here, and .debug_frame begins. */
static inline void maker_begin_debug_frame(struct cfi_maker *m)
{
	m->debug_frame = m->size;
	m->augmentation = "";
}

/* Begins an entry; its length is filled in by maker_end_entry(). */
static inline size_t maker_begin_entry(struct cfi_maker *m)
{
	maker_put_number(m, 0, 4);
	return m->size;
}

static inline void maker_end_entry(struct cfi_maker *m, size_t begin)
{
	uint32_t length;

	while ((m->size - begin) % 8 != 4)
		maker_put_number(m, 0, 1); /* DW_CFA_nop */
	length = (uint32_t)(m->size - begin);
	memcpy(m->image + begin - 4, &length, 4);
}

/* Adds a CIE with this initial program: code alignment 1, data alignment -8, return column 16. */
static inline void maker_cie(struct cfi_maker *m, const uint8_t *program, size_t size)
{
	size_t begin = maker_begin_entry(m);

	m->cie = begin - 4;
	maker_put_number(m, m->debug_frame ? UINT32_MAX : 0, 4); /* id */
	maker_put_number(m, 1, 1);				 /* version */
	maker_put(m, m->augmentation, strlen(m->augmentation) + 1);
	maker_put(m, BYTES(1, 0x78, 16));
	if (*m->augmentation == 'z') {
		maker_put_number(m, 1, 1);
		maker_put_number(m, m->encoding, 1);
	}
	maker_put(m, program, size);
	maker_end_entry(m, begin);
}

/* Adds an FDE of the newest CIE, for text offsets [start, start + length). */
static inline void maker_fde(struct cfi_maker *m, uint64_t start, uint64_t length,
			     const uint8_t *program, size_t size)
{
	size_t begin = maker_begin_entry(m);
	uint64_t base = (m->encoding & 0x70) == 0x10 ? m->size + 4 + 0x100000 : 0;
	size_t pointer_size = (m->encoding & 7) == 3 ? 4 : 8;

	maker_put_number(m, m->debug_frame ? m->cie - m->debug_frame : m->size - m->cie, 4);
	maker_put_number(m, MAKER_TEXT + start - base, pointer_size);
	maker_put_number(m, length, pointer_size);
	if (*m->augmentation == 'z')
		maker_put_number(m, 0, 1);
	maker_put(m, program, size);
	maker_end_entry(m, begin);
}

/* Writes the headers, without an entry point, and a text of int3. */
static inline void maker_init(struct cfi_maker *m)
{
	Elf64_Ehdr ehdr = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_phoff = sizeof(ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 2,
		.e_shoff = 0x6100,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 3,
		.e_shstrndx = 1,
	};
	Elf64_Phdr text = { .p_type = PT_LOAD,
			    .p_flags = PF_R | PF_X,
			    .p_offset = 0x1000,
			    .p_vaddr = MAKER_TEXT,
			    .p_filesz = MAKER_TEXT_SIZE,
			    .p_memsz = MAKER_TEXT_SIZE };

	*m = (struct cfi_maker){ .augmentation = "zR", .encoding = 0, .size = MAKER_EH_FRAME };
	m->image = calloc(1, MAKER_MAX_SIZE);
	memset(m->image + 0x1000, 0xcc, MAKER_TEXT_SIZE);
	memcpy(m->image, &ehdr, sizeof(ehdr));
	memcpy(m->image + sizeof(ehdr), &text, sizeof(text));
	memcpy(m->image + 0x6000, "\0.names\0.eh_frame\0.debug_frame", 31);
}

/* Writes the section headers, now that the size is known. Returns the size of the image. */
static inline size_t maker_finish(struct cfi_maker *m)
{
	size_t eh_frame_end = m->debug_frame ? m->debug_frame : m->size;
	Elf64_Shdr sections[4] = {
		{ .sh_type = SHT_NULL },
		{ .sh_name = 1, .sh_type = SHT_STRTAB, .sh_offset = 0x6000, .sh_size = 31 },
		{ .sh_name = 8,
		  .sh_type = SHT_PROGBITS,
		  .sh_flags = SHF_ALLOC,
		  .sh_addr = MAKER_EH_FRAME + 0x100000,
		  .sh_offset = MAKER_EH_FRAME,
		  .sh_size = eh_frame_end - MAKER_EH_FRAME },
		{ .sh_name = 18,
		  .sh_type = SHT_PROGBITS,
		  .sh_offset = eh_frame_end,
		  .sh_size = m->size - eh_frame_end },
	};
	Elf64_Phdr data = { .p_type = PT_LOAD,
			    .p_flags = PF_R,
			    .p_offset = MAKER_EH_FRAME,
			    .p_vaddr = MAKER_EH_FRAME + 0x100000,
			    .p_filesz = eh_frame_end - MAKER_EH_FRAME,
			    .p_memsz = eh_frame_end - MAKER_EH_FRAME };

	if (m->debug_frame)
		((Elf64_Ehdr *)m->image)->e_shnum = 4;
	memcpy(m->image + 0x6100, sections, sizeof(sections));
	memcpy(m->image + sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr), &data, sizeof(data));
	return m->size;
}

static inline Elf64_Ehdr *maker_ehdr(struct cfi_maker *m)
{
	return (Elf64_Ehdr *)m->image;
}

static inline uint8_t *maker_text(struct cfi_maker *m, uint64_t offset)
{
	return m->image + 0x1000 + offset;
}

#endif
