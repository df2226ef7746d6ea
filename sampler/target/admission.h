/*
 * Which processes may come to a socket of the recorder's: the targets, and what descends from them.
 * Abstract sockets are open to every user of the machine, so whoever comes is looked up by the
 * process id that the kernel tells. A descendant whose parents have ended is known by a ticket, a
 * secret word that the launched program has in its environment.
 */
#ifndef SPROF_ADMISSION_H
#define SPROF_ADMISSION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct admission;

/* `variable` names the ticket in the environment. */
struct admission *admission_new(const char *variable);
void admission_free(struct admission *admission); /* NULL is fine */

/* A process is a target, as long as it lives. */
void admission_add(struct admission *admission, pid_t pid);
/* "NAME=VALUE" for the environment of the launched program. */
const char *admission_ticket(const struct admission *admission);

/*
 * May the process at the other end of a connected socket come in? Then it counts as a target from
 * now on. Takes at most some milliseconds; of a user whose processes are refused again and again,
 * none is looked up for the rest of the second.
 */
bool admission_admits(struct admission *admission, int socket, pid_t pid, uid_t uid);
/* Counts a connection that was refused for another reason. */
void admission_count_refusal(struct admission *admission);
/* How many connections were refused; warns of them, saying what they came for. */
uint64_t admission_report(const struct admission *admission, const char *what);

#endif
