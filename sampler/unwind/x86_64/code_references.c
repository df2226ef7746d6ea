/* Bytes that are no instruction are passed over one by one, until decoding makes sense again. */
#include "sampler/unwind/x86_64/code_references.h"

#include <stdbool.h>

#include "sampler/unwind/x86_64/instruction.h"
#include "sampler/unwind/x86_64/jump_table.h"

void code_references_find(uint64_t vaddr, const uint8_t *text, size_t size,
			  code_reference_fn *found, void *context)
{
	uint32_t length;

	for (size_t at = 0; at < size; at += length) {
		struct instruction in = instruction_decode(text + at, size - at);
		uint64_t target = vaddr + at + in.length + (uint64_t)(int64_t)in.value;
		struct straight_line line = { .at = { (uint32_t)at }, .nr = 1 };
		struct jump_table table;

		length = in.length ? in.length : 1;
		switch (in.kind) {
		case INSTRUCTION_CALL:
			if (in.value) /* else it pushes its pc, to read it */
				found(context, REFERENCE_CALL, target);
			break;
		case INSTRUCTION_LEA_PC: found(context, REFERENCE_ADDRESS, target); break;
		case INSTRUCTION_CONSTANT:
			if (in.value > 0)
				found(context, REFERENCE_ADDRESS, (uint64_t)in.value);
			break;
		case INSTRUCTION_JUMP_INDIRECT:
			if (jump_table_find(text, size, vaddr, &line, &table))
				found(context, REFERENCE_TABLE, table.vaddr);
			break;
		default: break;
		}
	}
}

enum code_fate code_fate(const uint8_t *text, size_t size)
{
	enum code_fate fate = FATE_NEVER;

	for (size_t at = 0; at < size;) {
		struct instruction in = instruction_decode(text + at, size - at);
		int64_t target = (int64_t)at + in.length + in.value;
		bool branch = in.kind == INSTRUCTION_JUMP || in.kind == INSTRUCTION_JUMP_IF;

		if (in.kind == INSTRUCTION_RET ||
		    (in.kind == INSTRUCTION_JUMP && (target < 0 || target >= (int64_t)size)))
			return FATE_RETURNS;
		if (in.kind == INSTRUCTION_BAD || in.kind == INSTRUCTION_JUMP_INDIRECT ||
		    (branch && (target < 0 || target >= (int64_t)size)))
			fate = FATE_UNKNOWN;
		at += in.length ? in.length : 1;
	}
	return fate;
}
