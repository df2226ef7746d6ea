/*
 * The procedure linkage table: the stubs through which a file calls functions of other files. They
 * are common leaves, and no symbol covers them. A stub jumps through a slot of the GOT, and the
 * relocation of that slot names the function; reading the jump works for every layout that linkers
 * use (.plt, .plt.sec with IBT, .plt.got).
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/elf_headers.h"
#include "core/base/order.h"
#include "symbolizer/lookup/elf_symbols.h"
#include "symbolizer/lookup/string_pool.h"
#include "symbolizer/plt_stubs_x86_64.h"
#include "symbolizer/symbol_sources.h"

#define PLT_SIZE_MAX (16u << 20)
#define RELOCATION_SIZE_MAX (256u << 20)
#define NR_STUB_SECTIONS 3

/* The GOT slot at `address` holds the function of that symbol. */
struct slot {
	uint64_t address;
	const char *name;
};

struct stub_section {
	uint64_t address, size;
	const uint8_t *code;
	uint64_t stub_size;
};

struct plt {
	struct stub_section sections[NR_STUB_SECTIONS];
	size_t nr_sections;
	struct slot *slots; /* by address */
	size_t nr_slots, capacity;
	const char **lazy_names; /* by number of their relocation in .rela.plt */
	size_t nr_lazy_names, lazy_capacity;
	struct string_pool names;
};

static int compare_slots(const void *a, const void *b)
{
	const struct slot *x = a, *y = b;

	return ORDER(x->address, y->address);
}

/*
 * Returns the name of a symbol of the table that the relocations refer to; NULL where it has none.
 */
static const char *symbol_name(struct elf_image *image, const struct elf_section *relocations,
			       uint64_t index)
{
	struct elf_section *symbols = elf_image_section_at(image, relocations->link);
	struct elf_symbol_table table;
	const char *name;
	Elf64_Sym sym;

	if (!symbols || !elf_symbol_table_read(image, symbols, &table) ||
	    !elf_symbol_table_get(&table, index, &sym, &name) || !*name)
		return NULL;
	return name;
}

/* Returns "name@plt", without the version that a name may carry. */
static const char *stub_name(struct plt *plt, const char *name)
{
	char *text = xasprintf("%.*s@plt", (int)strcspn(name, "@"), name);
	const char *kept = string_pool_add(&plt->names, text);

	free(text);
	return kept;
}

/*
 * Returns the name of the function that a relocation puts into its slot. In a static program
 * (IRELATIVE) the relocation holds the address of the resolver, whose symbol is that of the
 * function.
 */
static const char *relocation_name(struct plt *plt, struct elf_image *image,
				   const struct elf_section *section, const Elf64_Rela *r,
				   const struct elf_symbols *symbols)
{
	const char *name = NULL;

	switch (plt_relocation(ELF64_R_TYPE(r->r_info))) {
	case PLT_SYMBOL: name = symbol_name(image, section, ELF64_R_SYM(r->r_info)); break;
	case PLT_RESOLVER:
		name = symbols ? elf_symbols_lookup(symbols, (uint64_t)r->r_addend) : NULL;
		break;
	case PLT_OTHER: break;
	}
	return name ? stub_name(plt, name) : NULL;
}

static void read_relocations(struct plt *plt, struct elf_image *image, const char *section_name,
			     const struct elf_symbols *symbols)
{
	struct elf_section *section = elf_image_section(image, section_name);
	bool lazy = !strcmp(section_name, ".rela.plt");
	const uint8_t *data;
	uint64_t size;

	if (!section || section->type != SHT_RELA || section->size > RELOCATION_SIZE_MAX)
		return;
	data = elf_section_data(image, section, &size);
	for (uint64_t i = 0; data && i < size / sizeof(Elf64_Rela); i++) {
		const char *name;
		Elf64_Rela r;

		memcpy(&r, data + i * sizeof(r), sizeof(r));
		name = relocation_name(plt, image, section, &r, symbols);
		if (lazy) {
			plt->lazy_names = xgrow(plt->lazy_names, &plt->lazy_capacity,
						plt->nr_lazy_names + 1, sizeof(*plt->lazy_names));
			plt->lazy_names[plt->nr_lazy_names++] = name;
		}
		if (!name)
			continue;
		plt->slots =
			xgrow(plt->slots, &plt->capacity, plt->nr_slots + 1, sizeof(*plt->slots));
		plt->slots[plt->nr_slots++] = (struct slot){ r.r_offset, name };
	}
	elf_section_unload(image, section);
}

static void add_stubs(struct plt *plt, struct elf_image *image, const char *name)
{
	struct elf_section *section = elf_image_section(image, name);
	struct stub_section *stubs = &plt->sections[plt->nr_sections];

	if (!section || section->size > PLT_SIZE_MAX)
		return;
	stubs->code = elf_section_data(image, section, &stubs->size);
	if (!stubs->code)
		return;
	stubs->address = section->address;
	stubs->stub_size = plt_stub_size(stubs->code, stubs->size);
	plt->nr_sections++;
}

/* Reads the symbols that resolve IRELATIVE relocations, from the file or its debug file. */
static struct elf_symbols *read_symbols(const struct symbol_module *module)
{
	struct elf_image *images[2] = { module->image, module->debug };

	for (int i = 0; i < 2; i++) {
		struct elf_section *s = images[i] ? elf_image_section(images[i], ".symtab") : NULL;

		if (s)
			return elf_symbols_new(images[i], s, module->image);
	}
	return NULL;
}

static bool any_address_in(const struct plt *plt, const struct symbol_module *module)
{
	for (size_t i = 0; i < module->nr_addresses; i++) {
		for (size_t j = 0; j < plt->nr_sections; j++) {
			if (module->addresses[i] - plt->sections[j].address < plt->sections[j].size)
				return true;
		}
	}
	return false;
}

static void plt_close(void *state)
{
	struct plt *plt = state;

	string_pool_fini(&plt->names);
	free(plt->slots);
	free(plt->lazy_names);
	free(plt);
}

static void *plt_open(const struct symbol_module *module)
{
	struct elf_symbols *symbols;
	struct plt *plt;

	if (module->image->machine != ELF_OWN_MACHINE)
		return NULL;
	plt = xcalloc(1, sizeof(*plt));
	add_stubs(plt, module->image, ".plt");
	add_stubs(plt, module->image, ".plt.sec");
	add_stubs(plt, module->image, ".plt.got");
	if (!any_address_in(plt, module)) {
		plt_close(plt);
		return NULL;
	}
	symbols = read_symbols(module);
	read_relocations(plt, module->image, ".rela.plt", symbols);
	read_relocations(plt, module->image, ".rela.dyn", symbols);
	elf_symbols_free(symbols);
	if (plt->nr_slots)
		qsort(plt->slots, plt->nr_slots, sizeof(*plt->slots), compare_slots);
	return plt;
}

static const char *name_at(const struct plt *plt, const struct stub_section *s, uint64_t offset)
{
	const uint8_t *code = s->code + offset;
	size_t size = s->size - offset;
	struct slot key = { .address = plt_jump_slot(code, size, s->address + offset) };
	const struct slot *slot = NULL;
	uint32_t number;

	if (key.address && plt->nr_slots)
		slot = bsearch(&key, plt->slots, plt->nr_slots, sizeof(key), compare_slots);
	if (slot)
		return slot->name;
	if (plt_is_resolver(code, size))
		return "[lazy binding]@plt";
	if (plt_pushed_number(code, size, &number) && number < plt->nr_lazy_names)
		return plt->lazy_names[number];
	return NULL;
}

static bool plt_lookup(void *state, uint64_t address, struct symbol_chain *chain)
{
	const struct plt *plt = state;

	for (size_t i = 0; i < plt->nr_sections; i++) {
		const struct stub_section *s = &plt->sections[i];
		uint64_t offset = address - s->address;
		const char *name;

		if (offset >= s->size)
			continue;
		name = name_at(plt, s, offset - offset % s->stub_size);
		if (!name)
			return false;
		symbol_chain_add(chain)->name = name;
		return true;
	}
	return false;
}

const struct symbol_source plt_source = {
	.name = "PLT",
	.kinds = 1u << MODULE_ELF,
	.open = plt_open,
	.lookup = plt_lookup,
	.close = plt_close,
};
