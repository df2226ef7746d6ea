/*
 * The list is read once, in order: each CIE comes before its FDEs, so CIEs are collected on the way
 * and found by their offsets.
 */
#include "sampler/unwind/eh_frame.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

/* LSB 5.0 table "DWARF Exception Header value format" and "... application". */
enum {
	PE_ABSPTR = 0x00,
	PE_ULEB128 = 0x01,
	PE_UDATA2 = 0x02,
	PE_UDATA4 = 0x03,
	PE_UDATA8 = 0x04,
	PE_SLEB128 = 0x09,
	PE_SDATA2 = 0x0a,
	PE_SDATA4 = 0x0b,
	PE_SDATA8 = 0x0c,
	PE_FORMAT = 0x0f,
	PE_PCREL = 0x10,
	PE_APPLICATION = 0xf0, /* with the indirect bit, which addresses of code do not have */
	PE_OMIT = 0xff,
};

#define ADDRESS_SIZE 8

static uint64_t read_value(struct cursor *bytes, uint8_t encoding)
{
	switch (encoding & PE_FORMAT) {
	case PE_ABSPTR:
	case PE_UDATA8:
	case PE_SDATA8: return cursor_fixed(bytes, 8);
	case PE_ULEB128: return cursor_uleb(bytes);
	case PE_SLEB128: return (uint64_t)cursor_sleb(bytes);
	case PE_UDATA2: return cursor_fixed(bytes, 2);
	case PE_UDATA4: return cursor_fixed(bytes, 4);
	case PE_SDATA2: return (uint64_t)cursor_signed(bytes, 2);
	case PE_SDATA4: return (uint64_t)cursor_signed(bytes, 4);
	default: bytes->bad = true; return 0;
	}
}

uint64_t eh_read_pointer(const struct eh_frame *frame, struct cursor *bytes, uint8_t encoding)
{
	uint64_t base = 0;

	if ((encoding & PE_APPLICATION) == PE_PCREL)
		base = frame->vaddr + (uint64_t)(bytes->at - frame->data);
	else if (encoding & PE_APPLICATION)
		bytes->bad = true;
	return base + read_value(bytes, encoding);
}

void eh_reader_init(struct eh_reader *reader, const struct eh_frame *frame)
{
	*reader = (struct eh_reader){ .frame = *frame };
}

void eh_reader_fini(struct eh_reader *reader)
{
	free(reader->cies);
	reader->cies = NULL;
}

/* The augmentation of a CIE: "z" and then one letter for each thing in its data. */
static bool parse_augmentation(struct cursor *bytes, const char *letters, struct eh_cie *cie)
{
	uint64_t size;
	struct cursor data;

	cie->pointer_encoding = PE_ABSPTR;
	if (!*letters)
		return true;
	if (*letters != 'z') /* without a size, what follows cannot be found */
		return false;
	size = cursor_uleb(bytes);
	data.at = cursor_take(bytes, size);
	if (!data.at)
		return false;
	data.end = data.at + size;
	data.bad = false;
	cie->augmented = true;
	while (*++letters) {
		uint8_t encoding;

		switch (*letters) {
		case 'R': cie->pointer_encoding = cursor_u8(&data); break;
		case 'S': cie->signal = true; break;
		case 'L': cursor_u8(&data); break;
		case 'P':
			encoding = cursor_u8(&data);
			if ((encoding & PE_APPLICATION) == 0x50) /* aligned: of unknown size */
				return !data.bad;
			read_value(&data, encoding);
			break;
		default: return !data.bad; /* unknown: the rest cannot be read and is not needed */
		}
	}
	return !data.bad;
}

static bool parse_cie(struct eh_reader *reader, struct cursor bytes, size_t offset)
{
	struct eh_cie cie = { .offset = offset };
	uint8_t version = cursor_u8(&bytes);
	const uint8_t *letters = bytes.at;
	const uint8_t *nul = memchr(letters, 0, cursor_left(&bytes));

	if ((version != 1 && version != 3 && (version != 4 || !reader->frame.debug_frame)) || !nul)
		return false;
	bytes.at = nul + 1;
	if (version == 4 && (cursor_u8(&bytes) != ADDRESS_SIZE || cursor_u8(&bytes)))
		return false; /* other addresses, or segments */
	cie.code_align = cursor_uleb(&bytes);
	cie.data_align = cursor_sleb(&bytes);
	cie.return_register = version == 1 ? cursor_u8(&bytes) : cursor_uleb(&bytes);
	if (!parse_augmentation(&bytes, (const char *)letters, &cie) || bytes.bad)
		return false;
	cie.program = bytes.at;
	cie.program_size = cursor_left(&bytes);
	reader->cies = xgrow(reader->cies, &reader->cies_capacity, reader->nr_cies + 1,
			     sizeof(*reader->cies));
	reader->cies[reader->nr_cies++] = cie;
	return true;
}

/* The index of the CIE at an offset, or nr_cies. Most FDEs use the newest one. */
static size_t find_cie(const struct eh_reader *reader, uint64_t offset)
{
	size_t lo = 0, hi = reader->nr_cies;

	if (hi && reader->cies[hi - 1].offset == offset)
		return hi - 1;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (reader->cies[mid].offset == offset)
			return mid;
		if (reader->cies[mid].offset < offset)
			lo = mid + 1;
		else
			hi = mid;
	}
	return reader->nr_cies;
}

static bool parse_fde(const struct eh_reader *reader, struct cursor bytes, uint64_t cie_offset,
		      struct eh_fde *ret_fde)
{
	size_t index = find_cie(reader, cie_offset);
	const struct eh_cie *cie;
	uint64_t start, length;

	if (index == reader->nr_cies)
		return false;
	cie = &reader->cies[index];
	start = eh_read_pointer(&reader->frame, &bytes, cie->pointer_encoding);
	length = read_value(&bytes, cie->pointer_encoding);
	if (cie->augmented)
		cursor_take(&bytes, cursor_uleb(&bytes));
	if (bytes.bad || start + length < start)
		return false;
	*ret_fde = (struct eh_fde){
		.start = start,
		.length = length,
		.cie = index,
		.program = bytes.at,
		.program_size = cursor_left(&bytes),
	};
	return true;
}

/* The bytes of the entry at an offset, after its length field. false: it does not fit. */
static bool entry_at(const struct eh_frame *frame, size_t offset, struct cursor *ret_bytes)
{
	struct cursor bytes = { frame->data + offset, frame->data + frame->size, false };
	uint64_t length = cursor_fixed(&bytes, 4);

	if (length == 0xffffffff)
		length = cursor_fixed(&bytes, 8);
	if (bytes.bad || length > cursor_left(&bytes))
		return false;
	bytes.end = bytes.at + length;
	*ret_bytes = bytes;
	return true;
}

/*
 * The bytes of the next entry after its length field; false at the end of the list. A zero length
 * ends it, unless fewer FDEs were seen than the file promises: then an object file with a
 * terminator of its own was linked into the middle.
 */
static bool next_entry(struct eh_reader *reader, struct cursor *ret_bytes)
{
	const struct eh_frame *frame = &reader->frame;

	while (frame->size - reader->offset >= 4) {
		if (!entry_at(frame, reader->offset, ret_bytes)) {
			reader->nr_broken++;
			return false;
		}
		if (cursor_left(ret_bytes))
			return true;
		reader->offset = (size_t)(ret_bytes->at - frame->data);
		if (reader->nr_fdes + reader->nr_broken >= frame->min_fdes)
			return false;
	}
	return false;
}

/* What the word behind the length of an entry says. */
struct entry_id {
	bool cie;
	uint64_t cie_offset; /* of an FDE's CIE */
};

/*
 * Reads that word of the entry at an offset. In .eh_frame it is the distance back to the CIE; in
 * .debug_frame it is the CIE's offset, of 8 bytes if the length has 8.
 */
static bool read_id(const struct eh_frame *frame, size_t offset, struct cursor *bytes,
		    struct entry_id *ret_id)
{
	size_t id_offset = (size_t)(bytes->at - frame->data);
	bool wide = frame->debug_frame && id_offset - offset > 4;
	uint64_t id = cursor_fixed(bytes, wide ? 8 : 4);

	if (frame->debug_frame)
		*ret_id = (struct entry_id){ id == (wide ? UINT64_MAX : UINT32_MAX), id };
	else
		*ret_id = (struct entry_id){ !id, id_offset - id };
	return !bytes->bad && (frame->debug_frame || id <= id_offset);
}

bool eh_reader_next(struct eh_reader *reader, struct eh_fde *ret_fde)
{
	struct cursor bytes;

	while (next_entry(reader, &bytes)) {
		size_t start = reader->offset;
		struct entry_id id;

		reader->offset = (size_t)(bytes.end - reader->frame.data);
		if (!read_id(&reader->frame, start, &bytes, &id)) {
			reader->nr_broken++;
		} else if (id.cie) {
			if (!parse_cie(reader, bytes, start))
				reader->nr_broken++;
		} else if (parse_fde(reader, bytes, id.cie_offset, ret_fde)) {
			ret_fde->offset = start;
			reader->nr_fdes++;
			return true;
		} else {
			reader->nr_broken++;
		}
	}
	return false;
}

bool eh_reader_fde_at(const struct eh_reader *reader, size_t offset, struct eh_fde *ret_fde)
{
	struct cursor bytes;
	struct entry_id id;

	return entry_at(&reader->frame, offset, &bytes) &&
	       read_id(&reader->frame, offset, &bytes, &id) && !id.cie &&
	       parse_fde(reader, bytes, id.cie_offset, ret_fde);
}
