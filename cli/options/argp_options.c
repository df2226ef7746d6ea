/*
 * Reads argp's tables as argp does: an entry with neither name nor letter is a heading or the end,
 * and an alias has the argument and the help of the option above it.
 */
#include "cli/options/argp_options.h"

#include <argp.h>
#include <ctype.h>

static bool is_end(const struct argp_option *o)
{
	return !o->name && !o->key && !o->doc && !o->group;
}

static void walk_table(const struct argp_option *options, option_visit *visit, void *context)
{
	const struct argp_option *real = options;

	for (const struct argp_option *o = options; o && !is_end(o); o++) {
		struct option_facts facts;

		if (!(o->flags & OPTION_ALIAS))
			real = o;
		if ((!o->name && !o->key) || o->flags & (OPTION_HIDDEN | OPTION_DOC))
			continue;
		facts = (struct option_facts){
			.name = o->name,
			.letter = o->key > 0 && o->key < 0x80 && isprint(o->key) ? (char)o->key : 0,
			.arg = real->arg,
			.arg_optional = real->flags & OPTION_ARG_OPTIONAL,
			.help = real->doc ? real->doc : "",
		};
		visit(context, &facts);
	}
}

void argp_options_walk(const struct argp *argp, option_visit *visit, void *context)
{
	walk_table(argp->options, visit, context);
	for (const struct argp_child *c = argp->children; c && c->argp; c++)
		argp_options_walk(c->argp, visit, context);
}
