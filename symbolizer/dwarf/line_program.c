/*
 * The line number state machine: DWARF 5, section 6.2.5. A row covers the addresses from its own to
 * that of the next row. Rows are not kept: each gives its line to the addresses that it covers.
 */
#include "symbolizer/dwarf/line_program.h"

#include <dwarf.h>

#include "core/base/search.h"

struct machine {
	const uint64_t *addresses;
	size_t nr_addresses;
	struct dwarf_line *lines;
	struct dwarf_file *dwarf;
	uint64_t address;
	uint32_t file, line;
	/* State of the last row. */
	bool in_sequence;
	bool discarded; /* the sequence starts at 0: the linker discarded its code */
	uint64_t row_address;
	uint32_t row_file, row_line;
	size_t next; /* index of the first address >= row_address, while rows ascend */
};

static void reset(struct machine *m)
{
	m->address = 0;
	m->file = 1;
	m->line = 1;
	m->in_sequence = false;
}

/* Gives the line of the last row to the addresses between it and this row. */
static void give_line(struct machine *m)
{
	while (m->next < m->nr_addresses && m->addresses[m->next] < m->address &&
	       dwarf_charge(m->dwarf, 1)) {
		struct dwarf_line *line = &m->lines[m->next++];

		if (!line->known && !m->discarded)
			*line = (struct dwarf_line){ m->row_file, m->row_line, true };
	}
}

static void add_row(struct machine *m)
{
	if (!m->in_sequence || m->address < m->row_address) {
		m->discarded = m->in_sequence ? m->discarded : !m->address;
		m->next = SEARCH(i, m->nr_addresses, m->addresses[i] < m->address);
	} else if (m->next < m->nr_addresses && m->addresses[m->next] < m->address) {
		give_line(m);
	}
	m->in_sequence = true;
	m->row_address = m->address;
	m->row_file = m->file;
	m->row_line = m->line;
}

static void run_extended(struct machine *m, struct cursor *c)
{
	uint64_t size = cursor_uleb(c);
	struct cursor operation;

	if (!size || size > cursor_left(c)) {
		c->bad = true;
		return;
	}
	operation = (struct cursor){ .at = c->at, .end = c->at + size };
	cursor_skip(c, size);
	switch (cursor_u8(&operation)) {
	case DW_LNE_end_sequence:
		add_row(m);
		reset(m);
		break;
	case DW_LNE_set_address:
		m->address = cursor_fixed(&operation, size - 1 < 8 ? size - 1 : 8);
		break;
	}
}

static void run_standard(struct machine *m, const struct dwarf_line_program *p, struct cursor *c,
			 uint8_t opcode)
{
	switch (opcode) {
	case DW_LNS_copy: add_row(m); break;
	case DW_LNS_advance_pc: m->address += cursor_uleb(c) * p->min_instruction; break;
	case DW_LNS_advance_line: m->line += (uint32_t)cursor_sleb(c); break;
	case DW_LNS_set_file: m->file = (uint32_t)cursor_uleb(c); break;
	case DW_LNS_const_add_pc:
		m->address +=
			(uint64_t)((255 - p->opcode_base) / p->line_range) * p->min_instruction;
		break;
	case DW_LNS_fixed_advance_pc: m->address += cursor_u16(c); break;
	default:
		for (uint8_t i = 0; i < p->nr_operands[opcode]; i++)
			cursor_uleb(c);
	}
}

void dwarf_line_program_run(const struct dwarf_line_program *p, struct dwarf_file *file,
			    const uint64_t *addresses, size_t nr, struct dwarf_line *ret_lines)
{
	struct machine m = {
		.addresses = addresses,
		.nr_addresses = nr,
		.lines = ret_lines,
		.dwarf = file,
	};
	struct cursor c = p->code;

	if (!p->line_range || !dwarf_charge(file, cursor_left(&c)))
		return;
	reset(&m);
	while (!c.bad && cursor_left(&c)) {
		uint8_t opcode = cursor_u8(&c);

		if (opcode >= p->opcode_base) {
			uint8_t step = opcode - p->opcode_base;

			m.address += (uint64_t)(step / p->line_range) * p->min_instruction;
			m.line += (uint32_t)(p->line_base + step % p->line_range);
			add_row(&m);
		} else if (opcode == 0) {
			run_extended(&m, &c);
		} else {
			run_standard(&m, p, &c, opcode);
		}
	}
}
