/*
 * The completion for bash: one function that looks at the command, and at the word before the one
 * that is completed. bash splits "--sort=self" into three words.
 */

#include "cli/completion/completion.h"
#include "core/base/buffer.h"

static const char head[] =
	"# bash completion of sprof; written by: sprof completion bash\n"
	"_sprof() {\n"
	"\tlocal IFS=$' \\t\\n' cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
	"\tlocal words=\n"
	"\t[ \"$prev\" != = ] || prev=${COMP_WORDS[COMP_CWORD-2]}\n"
	"\t[ \"$cur\" != = ] || cur=\n";

static const char tail[] = "\tesac\n"
			   "\tif [ -n \"$words\" ]; then\n"
			   "\t\tCOMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
			   "\telse\n"
			   "\t\tcompopt -o filenames 2>/dev/null\n"
			   "\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
			   "\tfi\n"
			   "}\n"
			   "complete -F _sprof sprof\n";

struct writer {
	struct buffer *b;
	const struct completion_command *command;
};

static void add_pattern(struct buffer *b, const char *command, const struct option_facts *o)
{
	buffer_add_string(b, "\t");
	if (o->name)
		buffer_printf(b, "%s:--%s", command, o->name);
	if (o->letter)
		buffer_printf(b, "%s%s:-%c", o->name ? "|" : "", command, o->letter);
	buffer_add_string(b, ")");
}

/* Adds what can follow an option that takes a value. */
static void add_value(void *context, const struct option_facts *o)
{
	const struct writer *w = context;
	struct buffer words = { 0 };
	enum completion_value value = completion_value_of(o, &words);

	if (o->arg && !o->arg_optional) {
		add_pattern(w->b, w->command->name, o);
		if (value == COMPLETE_NOTHING)
			buffer_add_string(w->b, " return ;;\n");
		else if (value == COMPLETE_FILE)
			buffer_add_string(w->b, " ;;\n");
		else if (value == COMPLETE_PROCESS)
			buffer_add_string(w->b, " words=$(cd /proc && echo [0-9]*) ;;\n");
		else
			buffer_printf(w->b, " words='%s' ;;\n", buffer_cstring(&words));
	}
	buffer_fini(&words);
}

static void add_option(void *context, const struct option_facts *o)
{
	const struct writer *w = context;

	if (o->name)
		buffer_printf(w->b, " --%s", o->name);
}

static void add_command(struct buffer *b, const struct completion_command *command)
{
	struct writer w = { b, command };

	argp_options_walk(command->argp, add_value, &w);
	buffer_printf(b, "\t%s:*)\n\t\tcase $cur in\n\t\t-*) words='--help", command->name);
	argp_options_walk(command->argp, add_option, &w);
	buffer_add_string(b, "' ;;\n");
	if (command->runs_program)
		buffer_add_string(b, "\t\t*) mapfile -t COMPREPLY < <(compgen -c -- \"$cur\"); "
				     "return ;;\n");
	buffer_add_string(b, "\t\tesac ;;\n");
}

void completion_write_bash(struct buffer *b, const struct completion_command *commands)
{
	buffer_add_string(b, head);
	buffer_add_string(b, "\tif [ \"$COMP_CWORD\" = 1 ]; then\n\t\tCOMPREPLY=($(compgen -W '");
	for (const struct completion_command *c = commands; c->name; c++)
		buffer_printf(b, "%s ", c->name);
	buffer_add_string(b, "--help --version' -- \"$cur\"))\n\t\treturn\n\tfi\n"
			     "\tcase ${COMP_WORDS[1]}:$prev in\n");
	for (const struct completion_command *c = commands; c->name; c++)
		add_command(b, c);
	buffer_add_string(b, tail);
}
