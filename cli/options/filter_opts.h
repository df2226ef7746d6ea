/*
 * The options with which every reading command says which part of the profile it looks at. A
 * command includes them as a child of its struct argp:
 *
 *	.children = (const struct argp_child[]){ { &filter_argp, 0, "Filters:", 1 }, { 0 } }
 *	case ARGP_KEY_INIT: state->child_inputs[0] = &o->filter;
 *
 * where o->filter is a struct filter *, NULL at first; it stays NULL where no filter was given. The
 * command passes it to profile_load() and frees it.
 */
#ifndef SPROF_FILTER_OPTS_H
#define SPROF_FILTER_OPTS_H

#include <argp.h>

extern const struct argp filter_argp;

#endif
