/* How long the function of an FDE is, which the table of .eh_frame_hdr does not say. */
#ifndef SPROF_FDE_LENGTH_H
#define SPROF_FDE_LENGTH_H

#include <stddef.h>
#include <stdint.h>

/*
 * The number of bytes that the FDE at `offset` of an .eh_frame section describes; UINT64_MAX if it
 * cannot be read. The bytes are not trusted.
 */
uint64_t fde_length(const uint8_t *section, uint64_t size, uint64_t offset);

#endif
