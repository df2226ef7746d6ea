/* Does an address follow a call, as every return address does? */
#ifndef SPROF_CALL_BEFORE_H
#define SPROF_CALL_BEFORE_H

#include <stdint.h>

#define CALL_BEFORE_BYTES 8 /* no call is longer */

enum call_before {
	CALL_NONE = 0,
	CALL_DIRECT,
	CALL_INDIRECT, /* of an address in a register or in memory */
};

/*
 * `code` is the CALL_BEFORE_BYTES bytes before `address`. *ret_target is what a direct call calls.
 * Instructions are not told backwards without doubt: other bytes may look like a call.
 */
enum call_before call_before(const uint8_t *code, uint64_t address, uint64_t *ret_target);

#endif
