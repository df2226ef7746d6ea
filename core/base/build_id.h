/*
 * The build-id: bytes that a linker writes into an ELF file so that its separate debug information
 * and its symbols can be found and checked. Equal ids mean equal code.
 */
#ifndef SPROF_BUILD_ID_H
#define SPROF_BUILD_ID_H

#define BUILD_ID_MAX 32 /* bytes; GNU ld writes 20, lld 8 to 20. Go's own note is not used. */

#endif
