/*
 * Rights that sprof has and its caller lacks. If the file of the program has capabilities (setcap)
 * or is setuid, any user who may run it gets rights that an administrator lent for sampling alone:
 * borrowed rights. They are off unless a few lines turn them on, so a file that the caller names is
 * opened with the caller's own rights. What the caller has itself, as root or in a container, is
 * never borrowed, and sampling alone decides how much of that is dropped.
 */
#ifndef SPROF_PRIVILEGES_H
#define SPROF_PRIVILEGES_H

#include <linux/capability.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum rights { RIGHTS_OF_CALLER, RIGHTS_BORROWED };

/*
 * Takes the caller's user and group ids, keeps of the capabilities those that sampling can use, and
 * turns them off. To be called first of all, before threads; it changes nothing where no right is
 * borrowed. It ends the program if the kernel refuses.
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
 * errno stays as it is. Does nothing where no right is borrowed.
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
 * theirs. Root in a container without CAP_SYS_PTRACE keeps its capabilities: without them it could
 * not look at its equals.
 */
void privileges_reduce(uint64_t kept);

/* Gives up all of them: for threads that only compute. */
void privileges_drop(void);

/*
 * For commands that read: gives up all capabilities that are borrowed, and of the caller's own all
 * but those for opening the files that it names. Whatever is read after this, no process is traced,
 * no program started and no socket opened.
 */
void privileges_only_read(void);

/*
 * Is this a process of the caller's? Root may sample any. Of another caller's the kernel decides:
 * the process has the caller's ids, no capability that the caller lacks, and does not protect
 * itself as setuid programs and ssh-agent do.
 */
bool privileges_caller_may_read(pid_t pid);

/*
 * May the caller have sprof sample processes that it could not read itself? Root may. With
 * borrowed rights only if the file of the program says that the administrator chose who runs it:
 * not every user can execute it.
 */
bool privileges_caller_may_ask_for_all(void);

#endif
