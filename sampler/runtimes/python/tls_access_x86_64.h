/* Where the x86-64 code of an accessor says that a thread-local variable is. */
#ifndef SPROF_TLS_ACCESS_X86_64_H
#define SPROF_TLS_ACCESS_X86_64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/portable/pylayout.h"

/*
 * Fills layout->tls and tls_offset from the first access in the code at a virtual address;
 * layout->runtime is known. false: there is no known form of access.
 */
bool python_find_tls_access(const uint8_t *code, size_t size, uint64_t vaddr,
			    struct py_layout *layout);

#endif
