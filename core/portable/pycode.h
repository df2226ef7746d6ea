/*
 * What a walk says of a Python code object: the record that names it, sent once, and the word that
 * stands for a frame of it in a stack.
 */
#ifndef SPROF_PYCODE_H
#define SPROF_PYCODE_H

#ifndef __VMLINUX_H__ /* the BPF program has the types already */
#include <linux/types.h>
#endif

/* A Python frame: this bit, the number of its code object, the code unit it stands at. */
#define FRAME_PYTHON (1ull << 62)
#define CODE_POSITION_BITS 22
#define CODE_POSITION_MASK ((1ull << CODE_POSITION_BITS) - 1)
#define CODE_ID_BITS 40 /* who gave it, and a count; 0 is no code */
#define CODE_ID_MASK ((1ull << CODE_ID_BITS) - 1)

#define CODE_SLOTS 65536 /* power of two; Python code objects in use */

/* An entry of the table of code objects that were sent: its upper bits repeat the key's. */
struct code_slot {
	__u64 key, id;
};

#define CODE_NAME_SIZE 256 /* bytes of a name that are kept: the last ones */
#define CODE_MAX_LINETABLE 32768
#define CODE_STRING_ASCII 0x80 /* in `form`; else characters are 1 (Latin-1), 2 or 4 bytes */

struct code_string {
	__u16 size; /* bytes */
	__u8 form;
	__u8 cut; /* there is more before it */
	__u8 text[CODE_NAME_SIZE];
};
_Static_assert(sizeof(struct code_string) == 4 + CODE_NAME_SIZE, "no holes");

/* A Python code object; `linetable_copied` bytes of its line table follow. */
struct code_record {
	__u64 id;
	__u64 address; /* of the line table in the target */
	__u32 linetable_size, linetable_copied;
	__u32 first_line;
	__u8 minor; /* of CPython 3.minor, which says how the line table is coded */
	__u8 pad[3];
	struct code_string name, file;
};
_Static_assert(sizeof(struct code_record) == 32 + 2 * sizeof(struct code_string), "no holes");

#endif
