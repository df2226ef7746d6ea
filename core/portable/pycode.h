/*
 * Python code objects in a walk: the record that names one, which is sent once, and the word that
 * stands for its frames in a stack.
 */
#ifndef SPROF_PYCODE_H
#define SPROF_PYCODE_H

#ifndef __VMLINUX_H__ /* the BPF program has the types already */
#include <linux/types.h>
#endif

#include "core/portable/frames.h"

/* A Python frame: this bit, the number of its code object, and its position in code units. */
#define FRAME_PYTHON (1ull << 62)
#define FRAME_IS_PYTHON(word) (((word) & (FRAME_EXACT | FRAME_PYTHON)) == FRAME_PYTHON)
#define CODE_POSITION_BITS 22
#define CODE_POSITION_MASK ((1ull << CODE_POSITION_BITS) - 1)
#define CODE_ID_BITS 40 /* who numbers it, and a count; 0 = no code */
#define CODE_ID_MASK ((1ull << CODE_ID_BITS) - 1)

#define CODE_SLOTS 65536 /* power of two; Python code objects in use at a time */

/*
 * An entry of the table of sent code objects. The upper bits of the number repeat those of the key.
 */
struct code_slot {
	__u64 key, id;
};

#define CODE_NAME_SIZE 256 /* the last bytes of a name, which are kept */
#define CODE_MAX_LINETABLE 32768
#define CODE_STRING_ASCII 0x80 /* in `form`; else characters are 1 (Latin-1), 2 or 4 bytes */

struct code_string {
	__u16 size; /* bytes */
	__u8 form;
	__u8 cut; /* bytes before these were cut off */
	__u8 text[CODE_NAME_SIZE];
};
_Static_assert(sizeof(struct code_string) == 4 + CODE_NAME_SIZE, "no holes");

/* Names a Python code object; `linetable_copied` bytes of its line table follow. */
struct code_record {
	__u64 id;
	__u64 address; /* of the line table in the target */
	__u32 linetable_size, linetable_copied;
	__u32 first_line;
	__u8 minor; /* of CPython 3.minor, which decides how the line table is coded */
	__u8 pad[3];
	struct code_string name, file;
};
_Static_assert(sizeof(struct code_record) == 32 + 2 * sizeof(struct code_string), "no holes");

#endif
