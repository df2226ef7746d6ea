/*
 * Rights that sprof has and its caller lacks. If sprof's file has capabilities (setcap) or is
 * setuid, every user who may run it gets rights that an administrator lent for sampling alone:
 * borrowed rights. They are off unless a few lines turn them on, so a file that the caller names is
 * opened with the caller's own rights. Rights that the caller has itself, as root or in a
 * container, are not borrowed; they are dropped when sampling does not need them.
 */
#ifndef SPROF_PRIVILEGES_H
#define SPROF_PRIVILEGES_H

#include <linux/capability.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum rights { RIGHTS_OF_CALLER, RIGHTS_BORROWED };

/*
 * Takes the caller's user and group ids, keeps only capabilities that sampling can use, and turns
 * them off. Must be called first of all, before threads are started. Changes nothing if no right is
 * borrowed; ends the program if the kernel refuses.
 */
void privileges_begin(void);

bool privileges_are_borrowed(void);

/*
 * Turns borrowed rights on or off for the calling thread and the threads that it starts, and
 * returns what held before, which is to be restored:
 *
 *	enum rights before = privileges_use(RIGHTS_OF_CALLER);
 *	fd = open(path_on_the_command_line, O_RDONLY | O_CLOEXEC);
 *	privileges_use(before);
 *
 * Does not change errno. Does nothing if no right is borrowed.
 */
enum rights privileges_use(enum rights rights);

/* Returns whether the calling thread has this capability (CAP_...) now. */
bool privileges_have(int capability);

/* The capabilities that count now and are not borrowed, as a set of PRIVILEGE(). */
uint64_t privileges_of_caller(void);

#define PRIVILEGE(capability) (1ull << (capability))
/* Reading other processes: what every source uses as long as it samples. */
#define PRIVILEGES_TO_FOLLOW                                                                       \
	(PRIVILEGE(CAP_SYS_PTRACE) | PRIVILEGE(CAP_DAC_READ_SEARCH) |                              \
	 PRIVILEGE(CAP_CHECKPOINT_RESTORE) | PRIVILEGE(CAP_KILL) | PRIVILEGE(CAP_SYSLOG))

/*
 * Gives up all capabilities of the calling thread but these, for good, and sets no_new_privs, so
 * that no program that it starts from now on gains rights. Programs that were started before keep
 * theirs. Root in a container without CAP_SYS_PTRACE keeps all: with fewer it could not look at
 * root's processes.
 */
void privileges_reduce(uint64_t kept);

/* Gives up all capabilities: for threads that only compute. */
void privileges_drop(void);

/*
 * For commands that read: gives up all capabilities except the caller's own for opening the files
 * that it names, and the system calls to trace a process, start a program or open a socket.
 */
void privileges_only_read(void);

/*
 * Could the caller read this process without sprof? Root can. For others the kernel decides: the
 * process must have the caller's ids, no capability that the caller lacks, and not protect itself
 * as setuid programs and ssh-agent do.
 */
bool privileges_caller_may_read(pid_t pid);

/*
 * May the caller have sprof sample processes that it could not read itself? Root may. With borrowed
 * rights it may if the administrator chose who can run sprof: not every user can execute the file.
 */
bool privileges_caller_may_ask_for_all(void);

#endif
