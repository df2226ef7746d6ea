/*
 * Plumbing of Python: functions that only call what somebody wanted to have called, and stand between any
 * two frames of real programs.
 */
#ifndef SPROF_NOISE_H
#define SPROF_NOISE_H

#include <stdbool.h>

struct tree_function;

/* The import system, runpy, contextlib, functools, and the call wrappers of PyTorch and of pytest. */
bool noise_is(const struct tree_function *f);

#endif
