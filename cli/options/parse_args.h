/* Parses the arguments of a command. */
#ifndef SPROF_PARSE_ARGS_H
#define SPROF_PARSE_ARGS_H

struct argp;

/*
 * Parses a command line with argp, in the order of its words. If it is wrong, prints a message as
 * clean text (core/base/clean_text.h) and ends the program with status 2.
 */
void parse_args(const struct argp *argp, int argc, char **argv, void *input);

#endif
