/*
 * How libsprof.so and the recorder meet: the target connects to an abstract Unix socket of this
 * name and gets one message with two descriptors, the region's and the arena's. The target sends
 * nothing; the kernel tells the recorder who has connected.
 *
 * The target gets the name from its environment or, if it sleeps, from a signal.
 */
#ifndef SPROF_AGENT_RENDEZVOUS_H
#define SPROF_AGENT_RENDEZVOUS_H

#include <linux/types.h>

/* The socket is "\0sprof-" and 16 hexadecimal digits. */
#define RENDEZVOUS_PREFIX "sprof-"
#define RENDEZVOUS_NAME_SIZE (1 + sizeof(RENDEZVOUS_PREFIX) - 1 + 16)

/*
 * To have the recorder read all its samples, because the code at some addresses is about to change,
 * a target connects to the name that differs in this bit. The recorder hangs up when it is done.
 */
#define RENDEZVOUS_SETTLE 1ull

/*
 * A target that was woken but has another recorder connects to the name that differs in this bit.
 */
#define RENDEZVOUS_BUSY 2ull

/*
 * SIGURG, queued with the name as its value, wakes a process that has the library in it and no
 * recorder. The default action of SIGURG is to ignore it, so it does no harm to a program that does
 * not listen, such as one that was just started in the same process by exec.
 */
#define RENDEZVOUS_WAKE_SIGNAL 23
/* The same signal with this value: look whether the recording has ended, and sleep then. */
#define RENDEZVOUS_SLEEP_AGAIN 1ull

/*
 * In the environment of a program that sprof starts: the digits of the name; then, in decimal, the
 * recorder's process id, the period in ns and the tick in ns; separated by colons.
 */
#define RENDEZVOUS_VARIABLE "SPROF_AGENT"

#define RENDEZVOUS_MAGIC 0x3154454d52525053ull /* "SPRRMET1" */

struct rendezvous_message {
	__u64 magic;
	__u32 version; /* REGION_VERSION */
	__s32 error;   /* errno: no descriptors come with it; or 0 */
};
_Static_assert(sizeof(struct rendezvous_message) == 16, "no holes");

#endif
