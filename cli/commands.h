/*
 * The commands of sprof. Each lives in cli/cmd_NAME.c, which defines one const entry; cli/main.c
 * lists the entries in the order in which --help shows them.
 *
 * A command parses its own line with one struct argp and ARGP_IN_ORDER. A wrong line ends in exit
 * status 2 (main sets argp_err_exit_status); main checks stdout for write errors afterwards.
 */
#ifndef SPROF_COMMANDS_H
#define SPROF_COMMANDS_H

#include <stdbool.h>

struct argp;

struct command {
	const char *name;
	const struct argp *argp; /* its options, for completion and for hints about mistyped ones */
	bool runs_program;	 /* its first argument begins another command line */
	bool samples;		 /* looks at processes; most others only read, without rights */
	bool sends;	  /* talks to the network: has another process read, without rights */
	const char *help; /* half a line, for the table in sprof --help */
	/*
	 * argv[0] is "sprof NAME". Returns the exit status: 0 ok, 1 failed (and reported), 2 usage;
	 * record returns its program's status, and 125 for a failure of its own.
	 */
	int (*main)(int argc, char **argv);
	/* Replaces `main` if set; also gets all commands, in a list that ends with NULL. */
	int (*main_of_all)(int argc, char **argv, const struct command *const *commands);
};

extern const struct command cmd_completion;
extern const struct command cmd_diff;
extern const struct command cmd_doctor;
extern const struct command cmd_dump;
extern const struct command cmd_export;
extern const struct command cmd_flame;
extern const struct command cmd_fold;
extern const struct command cmd_imports;
extern const struct command cmd_ranks;
extern const struct command cmd_info;
extern const struct command cmd_lines;
extern const struct command cmd_mark;
extern const struct command cmd_merge;
extern const struct command cmd_push;
extern const struct command cmd_record;
extern const struct command cmd_report;
extern const struct command cmd_top;

#endif
