/* sprof completion: prints a script that completes sprof's command line in a shell. */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/completion/completion.h"
#include "cli/options/parse_args.h"
#include "core/base/alloc.h"
#include "core/base/buffer.h"

struct shell {
	const char *name;
	void (*write)(struct buffer *b, const struct completion_command *commands);
};

static const struct shell shells[] = {
	{ "bash", completion_write_bash },
	{ "zsh", completion_write_zsh },
	{ "fish", completion_write_fish },
};

enum { NR_SHELLS = sizeof(shells) / sizeof(shells[0]) };

static error_t parse(int key, char *arg, struct argp_state *state)
{
	const struct shell **shell = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		if (*shell)
			argp_error(state, "one shell at a time");
		for (int i = 0; i < NR_SHELLS; i++)
			if (!strcmp(arg, shells[i].name))
				*shell = &shells[i];
		if (!*shell)
			argp_error(state, "there is no script for '%s', only bash, zsh and fish",
				   arg);
		return 0;
	case ARGP_KEY_END:
		if (!*shell)
			argp_error(state, "name a shell: bash, zsh or fish");
		return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = (const struct argp_option[]){ { 0 } },
	.parser = parse,
	.args_doc = "bash|zsh|fish",
	.doc = "Prints a script that completes the commands and options of sprof in that shell. "
	       "make install puts all three where the shells look for them.\v"
	       "Examples:\n"
	       "  source <(sprof completion bash)\n"
	       "  sprof completion zsh >~/.zfunc/_sprof\n"
	       "  sprof completion fish >~/.config/fish/completions/sprof.fish\n",
};

static int completion_main(int argc, char **argv, const struct command *const *all)
{
	struct completion_command *commands;
	const struct shell *shell = NULL;
	struct buffer b = { 0 };
	size_t nr = 0;

	parse_args(&argp, argc, argv, &shell);
	while (all[nr])
		nr++;
	commands = xcalloc(nr + 1, sizeof(*commands));
	for (size_t i = 0; i < nr; i++)
		commands[i] = (struct completion_command){
			.name = all[i]->name,
			.help = all[i]->help,
			.argp = all[i]->argp,
			.runs_program = all[i]->runs_program,
		};
	shell->write(&b, commands);
	fwrite(b.data, 1, b.size, stdout);
	buffer_fini(&b);
	free(commands);
	return 0;
}

const struct command cmd_completion = {
	.name = "completion",
	.argp = &argp,
	.help = "print a script that completes commands in bash, zsh or fish",
	.main_of_all = completion_main,
};
