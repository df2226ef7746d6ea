/* Tries each place from which an instruction may reach to the end of the bytes. */
#include "sampler/unwind/x86_64/call_before.h"

#include "sampler/unwind/x86_64/instruction.h"

#define DIRECT_LENGTH 5

enum call_before call_before(const uint8_t *code, uint64_t address, uint64_t *ret_target)
{
	for (uint32_t length = 2; length <= CALL_BEFORE_BYTES; length++) {
		struct instruction in =
			instruction_decode(code + CALL_BEFORE_BYTES - length, length);

		if (in.length != length)
			continue;
		if (in.kind == INSTRUCTION_CALL_INDIRECT)
			return CALL_INDIRECT;
		if (in.kind == INSTRUCTION_CALL && length == DIRECT_LENGTH) {
			*ret_target = address + (uint64_t)(int64_t)in.value;
			return CALL_DIRECT;
		}
	}
	return CALL_NONE;
}
