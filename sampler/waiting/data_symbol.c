/*
 * A child answers one question and ends. Of several variables around an address the smallest is
 * taken, because some tables have one symbol for a whole array of others.
 */
#include "sampler/waiting/data_symbol.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <libiberty/demangle.h>

#include "core/base/elf_file.h"
#include "core/sandbox/message.h"
#include "core/sandbox/sandbox.h"

#define WAIT_MS 300
#define CPU_S 1
#define MEMORY_BYTES (256ull << 20)
#define MAX_MANGLED 1024 /* bytes of a name that is demangled */
#define PAGE 4096ull

struct answer {
	int32_t err;
	char name[DATA_SYMBOL_SIZE];
};

/* The link-time address of what is loaded at that distance from the file's first byte. */
static uint64_t vaddr_of(const struct elf_image *image, uint64_t offset)
{
	for (size_t i = 0; i < image->nr_segments; i++) {
		const Elf64_Phdr *ph = &image->segments[i];

		if (ph->p_type == PT_LOAD)
			return offset + (ph->p_vaddr & -PAGE) - (ph->p_offset & -PAGE);
	}
	return offset;
}

/* Looks into one table. Returns the variable's name, which belongs to the image, or NULL. */
static const char *find_in(struct elf_image *image, uint32_t type, uint64_t vaddr,
			   uint64_t *ret_inside)
{
	struct elf_symbol_table table;
	uint64_t smallest = UINT64_MAX;
	const char *found = NULL, *name;
	struct elf_section *section = NULL;
	Elf64_Sym sym;

	for (size_t i = 0; i < image->nr_sections && !section; i++)
		if (image->sections[i].type == type)
			section = &image->sections[i];
	if (!section || !elf_symbol_table_read(image, section, &table))
		return NULL;
	for (size_t i = 1; i < table.nr; i++) {
		if (!elf_symbol_table_get(&table, i, &sym, &name) || !name[0] ||
		    ELF64_ST_TYPE(sym.st_info) != STT_OBJECT || sym.st_shndx == SHN_UNDEF ||
		    vaddr - sym.st_value >= sym.st_size || sym.st_size >= smallest)
			continue;
		smallest = sym.st_size;
		*ret_inside = vaddr - sym.st_value;
		found = name;
	}
	return found;
}

/* A name that is being written, and cut where there is no more room. */
struct text {
	char *to;
	size_t length;
};

static void append(const char *part, size_t size, void *context)
{
	struct text *t = context;
	size_t room = DATA_SYMBOL_SIZE - 1 - t->length;

	if (size > room)
		size = room;
	memcpy(t->to + t->length, part, size);
	t->length += size;
	t->to[t->length] = '\0';
}

static void write_name(const char *name, uint64_t inside, char *to)
{
	struct text text = { .to = to };
	char offset[24];

	if (strnlen(name, MAX_MANGLED) == MAX_MANGLED ||
	    !cplus_demangle_v3_callback(name, DMGL_ANSI, append, &text)) {
		text.length = 0;
		append(name, strlen(name), &text);
	}
	if (!inside)
		return;
	snprintf(offset, sizeof(offset), "+0x%" PRIx64, inside);
	if (text.length + strlen(offset) >= DATA_SYMBOL_SIZE)
		text.length = DATA_SYMBOL_SIZE - 1 - strlen(offset);
	append(offset, strlen(offset), &text);
}

static int find(int fd, uint64_t offset, char *text)
{
	struct elf_image *image;
	const char *name;
	uint64_t vaddr, inside = 0;
	int err = elf_image_open_borrowed(fd, &image);

	if (err)
		return err;
	vaddr = vaddr_of(image, offset);
	name = find_in(image, SHT_SYMTAB, vaddr, &inside);
	if (!name)
		name = find_in(image, SHT_DYNSYM, vaddr, &inside);
	if (name)
		write_name(name, inside, text);
	elf_image_close(image);
	return name ? 0 : -ENOENT;
}

/* ---- in the child */

static void answer_question(int socket)
{
	struct answer answer = { 0 };
	uint64_t offset;
	int fd;

	if (message_receive(socket, &offset, sizeof(offset), &fd, 1) != sizeof(offset))
		return;
	answer.err = find(fd, offset, answer.name);
	message_send(socket, &answer, sizeof(answer), NULL, 0);
}

/* ---- in the recorder */

int data_symbol_find(const struct sandbox *sandbox, int fd, uint64_t offset,
		     char name[DATA_SYMBOL_SIZE])
{
	static const struct sandbox_limits limits = { MEMORY_BYTES, 0, CPU_S };
	struct answer answer = { 0 };
	int socket, err;

	if (!sandbox)
		return find(fd, offset, name);
	socket = sandbox_start(sandbox, answer_question, &limits);
	if (socket < 0)
		return socket;
	err = message_send(socket, &offset, sizeof(offset), &fd, 1);
	err = err ? err : message_wait(socket, -1, WAIT_MS);
	if (!err && message_receive(socket, &answer, sizeof(answer), NULL, 0) != sizeof(answer))
		err = -ECHILD;
	close(socket);
	err = err ? err : answer.err;
	if (err > 0 ||
	    (!err && (!answer.name[0] || !memchr(answer.name, '\0', sizeof(answer.name)))))
		err = -EBADMSG;
	if (!err)
		memcpy(name, answer.name, sizeof(answer.name));
	return err;
}
