/*
 * sprof COMMAND ...: finds the command, runs it, and makes sure that its output has been written: a
 * report that a full disk cut short must not look complete.
 */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/options/help_list.h"
#include "cli/usage.h"
#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/rights/privileges.h"
#include "output/report/grid.h"

static const struct command *const commands[] = {
	&cmd_record, &cmd_top,	 &cmd_flame, &cmd_report, &cmd_lines,	   &cmd_imports,
	&cmd_ranks,  &cmd_dump,	 &cmd_diff,  &cmd_fold,	  &cmd_export,	   &cmd_push,
	&cmd_mark,   &cmd_merge, &cmd_info,  &cmd_doctor, &cmd_completion, NULL,
};

static void print_help(FILE *f)
{
	struct grid list;
	char *text;

	fputs("Usage: sprof COMMAND [OPTION...]\n"
	      "A sampling profiler for Linux: shows which code takes time, and who called it.\n"
	      "\n",
	      f);
	help_list_init(&list);
	for (const struct command *const *c = commands; *c; c++)
		help_list_add(&list, (*c)->name, "", (*c)->help);
	text = help_list_end(
		&list, "Commands",
		"Examples:\n"
		"  sprof record -- make -j8     run a program and record where its time goes\n"
		"  sprof record -p 1234 -d 30s  record a running process for 30 seconds\n"
		"  sprof flame -o flame.svg     draw the flame graph of the last recording\n"
		"\n"
		"sprof COMMAND --help explains a command; sprof --version prints the version.\n");
	fputs(text, f);
	free(text);
}

static const struct command *find_command(const char *name)
{
	for (const struct command *const *c = commands; *c; c++) {
		if (strcmp((*c)->name, name) == 0)
			return *c;
	}
	return NULL;
}

/* Runs the command named argv[0] as "sprof NAME", the name that argp prints in messages. */
static int run_command(int argc, char **argv)
{
	const struct command *command = find_command(argv[0]);
	struct usage *usage;
	char *name;
	int status;

	if (!command) {
		log_error(0, "run '%s': there is no such command", argv[0]);
		usage_hint_command(argv[0], commands);
		return 2;
	}
	if (!command->samples && !command->sends)
		privileges_only_read();
	name = xasprintf("sprof %s", command->name);
	argv[0] = name;
	argp_err_exit_status = 2;
	usage = xcalloc(1, sizeof(*usage));
	*usage = (struct usage){ command, argv, false };
	usage_watch(usage);
	status = command->main ? command->main(argc, argv)
			       : command->main_of_all(argc, argv, commands);
	usage->parsed = true;
	free(name);
	return status;
}

static int run(int argc, char **argv)
{
	const char *first = argc > 1 ? argv[1] : "";
	char help[] = "--help";

	if (argc < 2) {
		print_help(stderr);
		return 2;
	}
	if (strcmp(first, "--help") == 0 || strcmp(first, "-h") == 0) {
		print_help(stdout);
		return 0;
	}
	if (strcmp(first, "--version") == 0 || strcmp(first, "-V") == 0) {
		printf("sprof %s\n", SPROF_VERSION);
		return 0;
	}
	if (strcmp(first, "help") == 0) {
		char *command[] = { argv[argc - 1], help, NULL };

		if (argc > 2)
			return run_command(2, command);
		print_help(stdout);
		return 0;
	}
	if (first[0] == '-') {
		log_error(0, "accept '%s': there is no such option before the command", first);
		log_hint("sprof --help");
		return 2;
	}
	if (argc > 2 && strcmp(argv[2], "-h") == 0)
		argv[2] = help;
	return run_command(argc - 1, argv + 1);
}

/*
 * If the caller closed a standard descriptor, the next file that sprof opens would get its number,
 * and messages would land in that file. The gap is filled; stdout is opened for reading, so that
 * writing to it still fails.
 */
static void fill_standard_descriptors(void)
{
	for (int fd = 0; fd <= 2; fd++) {
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == 2 ? O_WRONLY : O_RDONLY) < 0)
			abort();
	}
}

/*
 * Returns 0, or 1 when output could not be written. A reader that closed its pipe early is no
 * error.
 */
static int close_stdout(void)
{
	bool failed = ferror(stdout);

	errno = 0;
	if (fclose(stdout) == 0 && !failed)
		return 0;
	if (errno == EPIPE)
		return 0;
	log_error(errno, "write to standard output");
	return 1;
}

static void on_file_limit(int signal)
{
	(void)signal;
}

/*
 * A write beyond the file size limit (ulimit -f) sends SIGXFSZ, which would end sprof. With a
 * handler the write fails with EFBIG instead, which is handled like a full disk. The signal is not
 * ignored, because a program that sprof starts would inherit that.
 */
static void survive_file_limit(void)
{
	const struct sigaction a = { .sa_handler = on_file_limit, .sa_flags = SA_RESTART };
	struct sigaction was;

	if (!sigaction(SIGXFSZ, NULL, &was) && was.sa_handler == SIG_DFL)
		sigaction(SIGXFSZ, &a, NULL);
}

int main(int argc, char **argv)
{
	int status, lost;

	privileges_begin();
	fill_standard_descriptors();
	survive_file_limit();
	status = run(argc, argv);
	lost = close_stdout();
	return status ? status : lost;
}
