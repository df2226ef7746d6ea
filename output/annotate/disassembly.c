/*
 * Loads libcapstone and turns machine code into text with it. Capstone's structs change with its
 * major version, so only the library of the version whose header this was built with is loaded.
 */
#include "output/annotate/disassembly.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <capstone/capstone.h>

#include "core/base/alloc.h"

#define TEXT_OF(x) #x
#define LIBRARY_OF(major) "libcapstone.so." TEXT_OF(major)

const char disassembler_library[] = LIBRARY_OF(CS_API_MAJOR);

struct disassembler {
	void *library;
	csh handle;
	cs_insn *insn; /* room for one instruction */
	cs_err (*open)(cs_arch arch, cs_mode mode, csh *handle);
	cs_err (*close)(csh *handle);
	cs_err (*option)(csh handle, cs_opt_type type, size_t value);
	cs_insn *(*alloc)(csh handle);
	void (*free)(cs_insn *insn, size_t count);
	bool (*next)(csh handle, const uint8_t **code, size_t *size, uint64_t *address,
		     cs_insn *insn);
};

static bool find_functions(struct disassembler *d)
{
	const struct {
		const char *name;
		void **function;
	} wanted[] = {
		{ "cs_open", (void **)&d->open },     { "cs_close", (void **)&d->close },
		{ "cs_option", (void **)&d->option }, { "cs_malloc", (void **)&d->alloc },
		{ "cs_free", (void **)&d->free },     { "cs_disasm_iter", (void **)&d->next },
	};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		*wanted[i].function = dlsym(d->library, wanted[i].name);
		if (!*wanted[i].function)
			return false;
	}
	return true;
}

struct disassembler *disassembler_open(void)
{
	struct disassembler *d = xcalloc(1, sizeof(*d));

	d->library = dlopen(disassembler_library, RTLD_NOW);
	if (!d->library || !find_functions(d) || d->open(CS_ARCH_X86, CS_MODE_64, &d->handle)) {
		d->handle = 0;
		disassembler_close(d);
		return NULL;
	}
	d->option(d->handle, CS_OPT_SYNTAX, CS_OPT_SYNTAX_ATT);
	d->option(d->handle, CS_OPT_DETAIL, CS_OPT_ON);
	d->insn = d->alloc(d->handle);
	return d;
}

void disassembler_close(struct disassembler *d)
{
	if (!d)
		return;
	if (d->insn)
		d->free(d->insn, 1);
	if (d->handle)
		d->close(&d->handle);
	if (d->library)
		dlclose(d->library);
	free(d);
}

/* The operand of a direct call or jump; 0 for other instructions. */
static uint64_t target_of(const cs_insn *insn)
{
	const cs_detail *detail = insn->detail;
	bool is_branch = false;

	for (uint8_t i = 0; i < detail->groups_count; i++)
		is_branch |= detail->groups[i] == CS_GRP_JUMP || detail->groups[i] == CS_GRP_CALL;
	if (!is_branch || detail->x86.op_count != 1 || detail->x86.operands[0].type != X86_OP_IMM)
		return 0;
	return (uint64_t)detail->x86.operands[0].imm;
}

/* Pads mnemonics to one column, as disassemblers do. */
static void add_text(struct buffer *b, const char *mnemonic, const char *operands)
{
	buffer_add_string(b, mnemonic);
	if (*operands)
		buffer_printf(b, "%*s%s", strlen(mnemonic) < 6 ? 7 - (int)strlen(mnemonic) : 1, "",
			      operands);
	buffer_add_char(b, '\0');
}

void disassemble(struct disassembler *d, const uint8_t *code, size_t size, uint64_t vaddr,
		 struct disassembly *ret)
{
	const uint8_t *at = code;
	size_t left = size, capacity = 0;
	uint64_t address = vaddr;

	*ret = (struct disassembly){ 0 };
	while (left) {
		struct instruction *i;
		char byte[8];

		ret->list = xgrow(ret->list, &capacity, ret->nr + 1, sizeof(*ret->list));
		i = &ret->list[ret->nr++];
		*i = (struct instruction){ .offset = (uint32_t)(at - code),
					   .text = ret->text.size };
		if (d->next(d->handle, &at, &left, &address, d->insn)) {
			i->size = d->insn->size;
			i->target = target_of(d->insn);
			add_text(&ret->text, d->insn->mnemonic, d->insn->op_str);
			continue;
		}
		snprintf(byte, sizeof(byte), "0x%02x", *at);
		add_text(&ret->text, ".byte", byte);
		i->size = 1;
		at++;
		left--;
		address++;
	}
}

void disassembly_fini(struct disassembly *code)
{
	free(code->list);
	buffer_fini(&code->text);
	*code = (struct disassembly){ 0 };
}
