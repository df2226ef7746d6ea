/*
 * argp prints what is wrong with a command line and ends the program, so hints are printed by an
 * exit handler. It splits the line into options and values as getopt does, by the command's own
 * table, and ends at the program to run, whose options are not sprof's.
 */
#include "cli/usage.h"

#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/options/argp_options.h"
#include "cli/options/near_name.h"
#include "core/base/log.h"

/* A word of the command line, compared with all options in turn. */
struct match {
	const char *word; /* without its dashes */
	size_t size;	  /* of the part before a "=" */
	bool is_long, known, takes_next;
	struct near_name near;
};

static void compare(void *context, const struct option_facts *o)
{
	struct match *m = context;

	if (m->is_long && o->name) {
		if (strncmp(o->name, m->word, m->size) == 0) {
			m->known = true;
			m->takes_next = o->arg && !o->arg_optional && !m->word[m->size];
		}
		near_name_offer(&m->near, o->name);
	} else if (!m->is_long && o->letter && m->word[strlen(m->word) - 1] == o->letter) {
		m->known = true;
		m->takes_next = o->arg && !o->arg_optional;
	}
}

static void hint_option(const struct usage *u)
{
	for (char *const *at = u->argv + 1; *at && strcmp(*at, "--"); at++) {
		struct match m = { .is_long = !strncmp(*at, "--", 2) };
		char typed[64] = "";

		if ((*at)[0] != '-' || !(*at)[1]) {
			if (u->command->runs_program)
				return;
			continue;
		}
		m.word = *at + (m.is_long ? 2 : 1);
		m.size = strcspn(m.word, "=");
		if (m.size < sizeof(typed))
			memcpy(typed, m.word, m.size);
		m.near.word = typed;
		argp_options_walk(u->command->argp, compare, &m);
		if (m.is_long && !m.known && m.near.best) {
			log_hint("did you mean --%s?", m.near.best);
			return;
		}
		if (m.takes_next && !*++at)
			return;
	}
}

static void at_exit(int status, void *context)
{
	const struct usage *u = context;

	if (status == 2 && !u->parsed)
		hint_option(u);
}

void usage_watch(struct usage *usage)
{
	on_exit(at_exit, usage);
}

void usage_hint_command(const char *name, const struct command *const *commands)
{
	struct near_name near = { .word = name };

	for (const struct command *const *c = commands; *c; c++)
		near_name_offer(&near, (*c)->name);
	if (near.best)
		log_hint("did you mean sprof %s?", near.best);
	else
		log_hint("sprof --help");
}
