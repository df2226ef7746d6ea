/*
 * Compilers reach a thread-local variable in one of a few ways, each a fixed sequence of
 * instructions around a 32-bit number (U. Drepper, "ELF Handling For Thread-Local Storage").
 */
#include "sampler/runtimes/python/tls_access_x86_64.h"

#include <string.h>

/* Ways to reach a thread-local variable: the bytes before and after a 32-bit number. */
struct tls_access {
	enum py_tls kind;
	uint8_t size, before[5], size_after, after[4];
};

static const struct tls_access tls_accesses[] = {
	/* mov %fs:NUMBER, %rax */
	{ PY_TLS_EXEC, 5, { 0x64, 0x48, 0x8b, 0x04, 0x25 }, 0, { 0 } },
	/* mov NUMBER(%rip), %rax; mov %fs:(%rax), %rax */
	{ PY_TLS_INITIAL, 3, { 0x48, 0x8b, 0x05 }, 4, { 0x64, 0x48, 0x8b, 0x00 } },
	/* lea NUMBER(%rip), %rdi; call __tls_get_addr, or through its pointer */
	{ PY_TLS_GENERAL, 4, { 0x66, 0x48, 0x8d, 0x3d }, 4, { 0x66, 0x66, 0x48, 0xe8 } },
	{ PY_TLS_GENERAL, 4, { 0x66, 0x48, 0x8d, 0x3d }, 4, { 0x66, 0x48, 0xff, 0x15 } },
};

/* Takes the number from the instructions at code[at]. */
static bool take_tls_access(const struct tls_access *a, const uint8_t *code, size_t size, size_t at,
			    uint64_t vaddr, struct py_layout *l)
{
	int32_t number;
	int64_t offset;

	if (at + a->size + 4 + a->size_after > size || memcmp(code + at, a->before, a->size) ||
	    memcmp(code + at + a->size + 4, a->after, a->size_after))
		return false;
	memcpy(&number, code + at + a->size, 4);
	offset = number;
	if (a->kind != PY_TLS_EXEC)
		offset += (int64_t)(vaddr + at + a->size + 4 - l->runtime);
	l->tls = (uint16_t)a->kind;
	l->tls_offset = (int32_t)offset;
	return offset && offset == l->tls_offset;
}

bool python_find_tls_access(const uint8_t *code, size_t size, uint64_t vaddr,
			    struct py_layout *layout)
{
	for (size_t at = 0; at < size; at++)
		for (size_t i = 0; i < sizeof(tls_accesses) / sizeof(*tls_accesses); i++)
			if (take_tls_access(&tls_accesses[i], code, size, at, vaddr, layout))
				return true;
	return false;
}
