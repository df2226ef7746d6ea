/*
 * Scripts that complete sprof's command line in bash, zsh and fish. They are made from the option
 * tables of the commands, so they have every option and no other.
 */
#ifndef SPROF_COMPLETION_H
#define SPROF_COMPLETION_H

#include <stdbool.h>

#include "cli/options/argp_options.h"

struct argp;
struct buffer;

/* What the value of an option is. */
enum completion_value {
	COMPLETE_NOTHING, /* a number, a pattern: nothing can be proposed */
	COMPLETE_FILE,
	COMPLETE_PROCESS,
	COMPLETE_WORDS, /* one of a list */
};

/* A command as the scripts need it. The last of a list has no name. */
struct completion_command {
	const char *name, *help;
	const struct argp *argp;
	bool runs_program; /* its arguments are a command line of their own */
};

/*
 * What an option's value is. For COMPLETE_WORDS, adds the words to `words`, separated by a blank.
 */
enum completion_value completion_value_of(const struct option_facts *option, struct buffer *words);

/* Adds the beginning of an option's help, up to the end of its first phrase. */
void completion_add_help(struct buffer *b, const char *help);

void completion_write_bash(struct buffer *b, const struct completion_command *commands);
void completion_write_zsh(struct buffer *b, const struct completion_command *commands);
void completion_write_fish(struct buffer *b, const struct completion_command *commands);

#endif
