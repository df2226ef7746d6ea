/*
 * Hints after a usage error: names the option or command that was probably meant.
 */
#ifndef SPROF_USAGE_H
#define SPROF_USAGE_H

#include <stdbool.h>

struct command;

/* The command line of a command. If argp rejects it, the program ends with status 2. */
struct usage {
	const struct command *command;
	char *const *argv; /* argv[0] is the command */
	bool parsed;	   /* the command line was accepted: no hints any more */
};

/* Has a hint printed if the program ends with a usage error. `usage` must outlive the program. */
void usage_watch(struct usage *usage);

/* Hints at the command with a name like this one, or at --help. The list ends with NULL. */
void usage_hint_command(const char *name, const struct command *const *commands);

#endif
