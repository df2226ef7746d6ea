/* The beginning of the payload: struct alloc_payload. payload.lds places this section first. */
#include "sampler/agent/alloc/alloc_region.h"

_Static_assert(ALLOC_MAGIC == 0x31434f4c4c415253 && NR_ALLOC_ENTRIES == 14, "as below");
__asm__(".section .payload, \"ax\"\n"
	".hidden agent_payload_end, alloc_slow_malloc, alloc_slow_calloc, alloc_slow_realloc\n"
	".hidden alloc_slow_aligned, alloc_slow_posix_aligned, alloc_slow_free\n"
	".hidden alloc_slow_new, alloc_slow_new_aligned, alloc_slow_python_calloc\n"
	".hidden alloc_slow_python_realloc, alloc_slow_python_free\n"
	".hidden alloc_slow_tensor, alloc_slow_tensor_short\n"
	"header:\n"
	"	.quad 0x31434f4c4c415253\n"
	"	.long agent_payload_end - header, 0\n"
	"	.long alloc_slow_malloc - header\n"
	"	.long alloc_slow_calloc - header\n"
	"	.long alloc_slow_realloc - header\n"
	"	.long alloc_slow_aligned - header\n"
	"	.long alloc_slow_posix_aligned - header\n"
	"	.long alloc_slow_free - header\n"
	"	.long alloc_slow_new - header\n"
	"	.long alloc_slow_new_aligned - header\n"
	"	.long alloc_slow_aligned - header\n" /* Python's malloc looks the same */
	"	.long alloc_slow_python_calloc - header\n"
	"	.long alloc_slow_python_realloc - header\n"
	"	.long alloc_slow_python_free - header\n"
	"	.long alloc_slow_tensor - header\n"
	"	.long alloc_slow_tensor_short - header\n"
	".text\n");
