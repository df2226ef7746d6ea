/*
 * An FDE is: its size, the distance back to its CIE, the address of the function and its length,
 * both in the encoding that the CIE's augmentation gives after 'R'.
 * Source: LSB 5.0, "Exception Frames"; DWARF 5, section 6.4.1.
 */
#include "symbolizer/dwarf/fde_length.h"

#include <stdbool.h>

#include "core/base/cursor.h"

enum { EH_PE_OMIT = 0xff, EH_PE_ALIGNED = 0x50 };

/* Bytes of a pointer in that encoding (DW_EH_PE_*); 0 = of no fixed size. */
static size_t pointer_size(uint8_t encoding)
{
	if (encoding == EH_PE_OMIT || (encoding & 0x70) == EH_PE_ALIGNED)
		return 0;
	switch (encoding & 0x0f) {
	case 0x00: /* a native pointer */
	case 0x04:
	case 0x0c: return 8;
	case 0x03:
	case 0x0b: return 4;
	case 0x02:
	case 0x0a: return 2;
	}
	return 0;
}

/* The bytes of the entry at `offset`, after its size; bad where it has none. */
static struct cursor entry_at(const uint8_t *section, uint64_t size, uint64_t offset)
{
	struct cursor c = cursor_at(section, size, offset);
	uint64_t length = cursor_u32(&c);

	if (length == UINT32_MAX)
		length = cursor_u64(&c);
	if (c.bad || length > cursor_left(&c))
		c.bad = true;
	else
		c.end = c.at + length;
	return c;
}

/* The encoding of addresses in the FDEs of a CIE; EH_PE_OMIT if it cannot be read. */
static uint8_t encoding_of(struct cursor c)
{
	const char *augmentation;
	uint8_t version;

	if (cursor_u32(&c) != 0) /* the id of a CIE */
		return EH_PE_OMIT;
	version = cursor_u8(&c);
	augmentation = cursor_string(&c);
	if (!augmentation || c.bad)
		return EH_PE_OMIT;
	cursor_uleb(&c);
	cursor_sleb(&c);
	if (version == 1)
		cursor_u8(&c);
	else
		cursor_uleb(&c);
	if (*augmentation != 'z')
		return *augmentation ? EH_PE_OMIT : 0;
	cursor_uleb(&c);
	for (const char *a = augmentation + 1; *a && !c.bad; a++) {
		if (*a == 'R')
			return cursor_u8(&c);
		if (*a == 'P')
			cursor_skip(&c, pointer_size(cursor_u8(&c)));
		else if (*a == 'L')
			cursor_u8(&c);
		else if (*a != 'S' && *a != 'B')
			return EH_PE_OMIT;
	}
	return c.bad ? EH_PE_OMIT : 0;
}

uint64_t fde_length(const uint8_t *section, uint64_t size, uint64_t offset)
{
	struct cursor c = entry_at(section, size, offset);
	uint64_t at, back, length;
	size_t pointer;

	if (c.bad || cursor_left(&c) < 4)
		return UINT64_MAX;
	at = (uint64_t)(c.at - section);
	back = cursor_u32(&c);
	if (!back || back > at)
		return UINT64_MAX;
	pointer = pointer_size(encoding_of(entry_at(section, size, at - back)));
	cursor_skip(&c, pointer);
	length = pointer ? cursor_fixed(&c, pointer) : 0;
	return pointer && !c.bad ? length : UINT64_MAX;
}
