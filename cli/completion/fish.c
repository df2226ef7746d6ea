/*
 * The completion for fish: a `complete` line for each command and option.
 */
#include <stddef.h>

#include "cli/completion/completion.h"
#include "core/base/buffer.h"

struct writer {
	struct buffer *b;
	const struct completion_command *command;
};

/* Adds text as a word in single quotes. */
static void add_quoted(struct buffer *b, const char *text, size_t size)
{
	buffer_add_char(b, '\'');
	for (size_t i = 0; i < size; i++) {
		if (text[i] == '\'' || text[i] == '\\')
			buffer_add_char(b, '\\');
		buffer_add_char(b, text[i]);
	}
	buffer_add_char(b, '\'');
}

static void add_help(struct buffer *b, const char *help)
{
	struct buffer phrase = { 0 };

	completion_add_help(&phrase, help);
	buffer_add_string(b, " -d ");
	add_quoted(b, phrase.data, phrase.size);
	buffer_add_char(b, '\n');
	buffer_fini(&phrase);
}

static void add_option(void *context, const struct option_facts *o)
{
	const struct writer *w = context;
	struct buffer words = { 0 };
	enum completion_value value = completion_value_of(o, &words);

	buffer_printf(w->b, "complete -c sprof -n '__fish_seen_subcommand_from %s'",
		      w->command->name);
	if (o->letter)
		buffer_printf(w->b, " -s %c", o->letter);
	if (o->name)
		buffer_printf(w->b, " -l %s", o->name);
	if (o->arg && !o->arg_optional)
		buffer_add_string(w->b, value == COMPLETE_FILE ? " -r -F" : " -x");
	if (value == COMPLETE_PROCESS)
		buffer_add_string(w->b, " -a '(__fish_complete_pids)'");
	if (value == COMPLETE_WORDS)
		buffer_printf(w->b, " -a '%s'", buffer_cstring(&words));
	add_help(w->b, o->help);
	buffer_fini(&words);
}

void completion_write_fish(struct buffer *b, const struct completion_command *commands)
{
	buffer_add_string(b, "# fish completion of sprof; written by: sprof completion fish\n");
	for (const struct completion_command *c = commands; c->name; c++) {
		struct writer w = { b, c };

		buffer_printf(b, "complete -c sprof -f -n __fish_use_subcommand -a %s", c->name);
		add_help(b, c->help);
		argp_options_walk(c->argp, add_option, &w);
	}
	buffer_add_string(b, "complete -c sprof -n '__fish_seen_subcommand_from record' "
			     "-a '(__fish_complete_subcommand --fcs-skip=2)'\n");
}
