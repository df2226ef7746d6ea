/*
 * How a process that runs already comes to be sampled: the library in it is woken, or else the
 * payload is put into it.
 */
#ifndef SPROF_ATTACH_TARGET_H
#define SPROF_ATTACH_TARGET_H

#include <sys/types.h>

struct inject_reason;
struct source_config;
struct timer_processes;
struct timer_reception;
struct timer_rendezvous;

/*
 * 0, or -errno, reported with what else could sample it as `config` asks. A process that sleeps may
 * come only later, when it runs.
 */
int timer_attach(const struct timer_reception *reception, struct timer_rendezvous *rendezvous,
		 pid_t pid, const struct source_config *config);
/* Puts the payload into it. 0, or -errno and the reason ("" where the error says it all). */
int timer_attach_code(struct timer_processes *processes, pid_t pid, struct inject_reason *reason);

#endif
