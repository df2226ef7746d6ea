/*
 * The completion for zsh: a specification of _arguments for each command.
 */
#include <stddef.h>
#include <string.h>

#include "cli/completion/completion.h"
#include "core/base/buffer.h"

/* Adds text inside '...' and [...], where quotes, brackets and colons have a meaning. */
static void add_escaped(struct buffer *b, const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (text[i] == '\'')
			buffer_add_string(b, "'\\''");
		else if (strchr("[]:\\", text[i]))
			buffer_printf(b, "\\%c", text[i]);
		else
			buffer_add_char(b, text[i]);
	}
}

static void add_help(struct buffer *b, const char *help)
{
	struct buffer phrase = { 0 };

	completion_add_help(&phrase, help);
	buffer_add_char(b, '[');
	add_escaped(b, phrase.data, phrase.size);
	buffer_add_char(b, ']');
	buffer_fini(&phrase);
}

static void add_value(struct buffer *b, const struct option_facts *o)
{
	struct buffer words = { 0 };
	enum completion_value value = completion_value_of(o, &words);

	if (o->arg) {
		buffer_add_string(b, o->arg_optional ? "::" : ":");
		add_escaped(b, o->arg, strlen(o->arg));
		buffer_add_char(b, ':');
		if (value == COMPLETE_FILE)
			buffer_add_string(b, "_files");
		else if (value == COMPLETE_PROCESS)
			buffer_add_string(b, "_pids");
		else if (value == COMPLETE_WORDS)
			buffer_printf(b, "(%s)", buffer_cstring(&words));
		else
			buffer_add_char(b, ' ');
	}
	buffer_fini(&words);
}

/* The "*" says that the option may be given again. */
static void add_option(void *context, const struct option_facts *o)
{
	struct buffer *b = context;

	if (o->letter) {
		buffer_printf(b, " \\\n\t\t\t'*-%c%s", o->letter, o->arg ? "+" : "");
		add_help(b, o->help);
		add_value(b, o);
		buffer_add_char(b, '\'');
	}
	if (o->name) {
		buffer_printf(b, " \\\n\t\t\t'*--%s%s", o->name,
			      !o->arg		? ""
			      : o->arg_optional ? "=-"
						: "=");
		add_help(b, o->help);
		add_value(b, o);
		buffer_add_char(b, '\'');
	}
}

void completion_write_zsh(struct buffer *b, const struct completion_command *commands)
{
	buffer_add_string(b, "#compdef sprof\n"
			     "# zsh completion of sprof; written by: sprof completion zsh\n"
			     "_sprof() {\n"
			     "\tlocal -a commands\n"
			     "\tcommands=(\n");
	for (const struct completion_command *c = commands; c->name; c++) {
		buffer_printf(b, "\t\t'%s:", c->name);
		add_escaped(b, c->help, strlen(c->help));
		buffer_add_string(b, "'\n");
	}
	buffer_add_string(b, "\t)\n"
			     "\tif (( CURRENT == 2 )); then\n"
			     "\t\t_describe command commands\n"
			     "\t\treturn\n"
			     "\tfi\n"
			     "\tlocal command=$words[2]\n"
			     "\tshift words\n"
			     "\t(( CURRENT-- ))\n"
			     "\tcase $command in\n");
	for (const struct completion_command *c = commands; c->name; c++) {
		buffer_printf(b, "\t%s)\n\t\t_arguments%s \\\n\t\t\t'--help[print the options]'",
			      c->name, c->runs_program ? " -A '-*'" : "");
		argp_options_walk(c->argp, add_option, b);
		buffer_printf(b, " \\\n\t\t\t'*::%s' ;;\n",
			      c->runs_program ? "program:_normal" : "file:_files");
	}
	buffer_add_string(b, "\tesac\n}\n_sprof \"$@\"\n");
}
