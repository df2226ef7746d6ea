/*
 * The build-id: bytes that a linker writes into an ELF file so that separate debug files and
 * symbols can be matched with it. Files with equal ids have equal code.
 */
#ifndef SPROF_BUILD_ID_H
#define SPROF_BUILD_ID_H

#define BUILD_ID_MAX 32 /* bytes; GNU ld writes 20, lld 8 to 20. Go's own note is not used. */

#endif
