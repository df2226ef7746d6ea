/*
 * The options that say what is sampled and how: those that sprof record shares with other commands
 * that sample. A command includes them as a child of its struct argp, whose input is a struct
 * record_opts:
 *
 *	.children = (const struct argp_child[]){ { &sampling_argp, 0, NULL, 0 }, { 0 } }
 *	case ARGP_KEY_INIT: state->child_inputs[0] = &record_opts;
 *	case ARGP_KEY_ARG: sampling_opts_take_program(&record_opts, state);
 *	case ARGP_KEY_END: sampling_opts_check(&record_opts, state);
 */
#ifndef SPROF_SAMPLING_OPTS_H
#define SPROF_SAMPLING_OPTS_H

#include <argp.h>

struct record_opts;

extern const struct argp sampling_argp;

/* Takes the program that begins with this argument, with all arguments that follow it. */
void sampling_opts_take_program(struct record_opts *opts, struct argp_state *state);

/* Ends the program if the options cannot work together. Sets the frequency if none was given. */
void sampling_opts_check(struct record_opts *opts, struct argp_state *state);

#endif
