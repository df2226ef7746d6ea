/*
 * The commands of sprof. Each lives in cli/cmd_NAME.c, which exports one const entry; cli/main.c
 * lists them in the order in which --help shows them.
 *
 * A command parses its own line with one struct argp and ARGP_IN_ORDER. A wrong line ends in exit
 * status 2 (main sets argp_err_exit_status); main checks stdout for write errors afterwards.
 */
#ifndef SPROF_COMMANDS_H
#define SPROF_COMMANDS_H

struct command {
	const char *name;
	const char *help; /* half a line, for the table in sprof --help */
	/*
	 * argv[0] is "sprof NAME". Returns the exit status: 0 ok, 1 failed (and reported), 2 usage;
	 * record returns its program's status, and 125 for a failure of its own.
	 */
	int (*main)(int argc, char **argv);
};

#endif
