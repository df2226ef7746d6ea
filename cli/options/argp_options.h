/*
 * Walks the options of a struct argp and of its children, in the order of its tables, for what
 * needs to know them all: completion and the correction of mistyped options.
 */
#ifndef SPROF_ARGP_OPTIONS_H
#define SPROF_ARGP_OPTIONS_H

#include <stdbool.h>

struct argp;

/* An option with its own name; aliases are options of their own. All text belongs to the argp. */
struct option_facts {
	const char *name; /* without "--"; NULL where it has only a letter */
	char letter;	  /* 0 where it has none */
	const char *arg;  /* the word for its value in --help, NULL where it takes none */
	bool arg_optional;
	const char *help; /* "" where it has none */
};

typedef void option_visit(void *context, const struct option_facts *option);

/* Calls `visit` for each option; --help and the like, which argp adds, are not among them. */
void argp_options_walk(const struct argp *argp, option_visit *visit, void *context);

#endif
