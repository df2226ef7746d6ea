/* The layouts that binutils and lld write: with and without IBT, bound lazily or at the start. */
#include "symbolizer/plt_stubs_x86_64.h"

#include <elf.h>
#include <string.h>

enum plt_relocation plt_relocation(uint32_t type)
{
	switch (type) {
	case R_X86_64_JUMP_SLOT:
	case R_X86_64_GLOB_DAT: return PLT_SYMBOL;
	case R_X86_64_IRELATIVE: return PLT_RESOLVER;
	default: return PLT_OTHER;
	}
}

/* Stubs that are not bound lazily have 8 bytes without IBT; all others have 16. */
uint64_t plt_stub_size(const uint8_t *code, uint64_t size)
{
	bool is_short = size >= 8 && !memcmp(code, "\xff\x25", 2) &&
			(size < 16 || !memcmp(code + 8, "\xff\x25", 2));

	return is_short ? 8 : 16;
}

/* Returns the size of the endbr64 that code may begin with. */
static size_t skip_endbr(const uint8_t *code, size_t size)
{
	return size >= 4 && !memcmp(code, "\xf3\x0f\x1e\xfa", 4) ? 4 : 0;
}

uint64_t plt_jump_slot(const uint8_t *code, size_t size, uint64_t address)
{
	size_t at = skip_endbr(code, size);
	int32_t offset;

	if (at < size && code[at] == 0xf2) /* bnd */
		at++;
	if (size - at < 6 || code[at] != 0xff || code[at + 1] != 0x25) /* jmp *offset(%rip) */
		return 0;
	memcpy(&offset, code + at + 2, sizeof(offset));
	return address + at + 6 + (uint64_t)(int64_t)offset;
}

bool plt_pushed_number(const uint8_t *code, size_t size, uint32_t *ret_number)
{
	size_t at = skip_endbr(code, size);

	if (size - at < 5 || code[at] != 0x68)
		return false;
	memcpy(ret_number, code + at + 1, sizeof(*ret_number));
	return true;
}

bool plt_is_resolver(const uint8_t *code, size_t size)
{
	return size >= 2 && code[0] == 0xff && code[1] == 0x35; /* push offset(%rip) */
}
