/*
 * How libsprof.so and the recorder meet: the target connects to an abstract Unix socket of this name
 * and gets one message with two descriptors, the region's and the arena's. Who connects is known by
 * its credentials; it says nothing.
 *
 * The name comes to the target in its environment, or, where it sleeps, with a signal.
 */
#ifndef SPROF_AGENT_RENDEZVOUS_H
#define SPROF_AGENT_RENDEZVOUS_H

#include <linux/types.h>

/* The socket is "\0sprof-" and 16 hexadecimal digits. */
#define RENDEZVOUS_PREFIX "sprof-"
#define RENDEZVOUS_NAME_SIZE (1 + sizeof(RENDEZVOUS_PREFIX) - 1 + 16)

/*
 * Who wants the recorder to take all its samples, because what lies at an address is about to
 * change, connects to the name that differs in this bit. The recorder hangs up when it has done so.
 */
#define RENDEZVOUS_SETTLE 1ull

/* Who was asked to come, but is another recorder's, connects to the name that differs in this bit. */
#define RENDEZVOUS_BUSY 2ull

/*
 * SIGURG with the name as its value, queued, wakes a process that has the library in it and no
 * recorder. Whoever does not listen ignores it: also a program that was started a moment ago in the
 * place of the one that did.
 */
#define RENDEZVOUS_WAKE_SIGNAL 23
/* The same with this value: look whether the recording has ended, and sleep then. */
#define RENDEZVOUS_SLEEP_AGAIN 1ull

/*
 * In the environment of a program that sprof starts: the digits, then in decimal the number of the
 * recorder's process, the period in ns and the tick in ns, separated by colons.
 */
#define RENDEZVOUS_VARIABLE "SPROF_AGENT"

#define RENDEZVOUS_MAGIC 0x3154454d52525053ull /* "SPRRMET1" */

struct rendezvous_message {
	__u64 magic;
	__u32 version; /* REGION_VERSION */
	__s32 error;   /* errno: no descriptors follow; 0 */
};
_Static_assert(sizeof(struct rendezvous_message) == 16, "no holes");

#endif
