/*
 * How this kernel lets a wait's stack be walked after the wait, in the context of the thread that
 * waited: at the end of the switch (Linux 6.15 and later), or in an interrupt to the own CPU that
 * comes right after it.
 */
#ifndef SPROF_WAITING_WAY_H
#define SPROF_WAITING_WAY_H

#include <stdbool.h>

enum waiting_way {
	WAITING_AT_SWITCH_END,
	WAITING_BY_INTERRUPT,
	WAITING_CANNOT, /* the kernel has neither, or no type information */
};

struct waiting_kernel {
	enum waiting_way way;
	bool switch_has_state;	 /* the tracepoint of a switch says the state: since 5.18 */
	bool reads_other_stacks; /* of threads that are blocked: since 5.18 */
};

/* Asks the kernel's type information. */
void waiting_kernel_examine(struct waiting_kernel *ret);
/* One line for people: what waits are followed by, or why they cannot be. */
const char *waiting_way_text(enum waiting_way way);

#endif
