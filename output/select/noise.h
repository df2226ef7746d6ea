/*
 * Noise in Python stacks: wrappers that only call another function and appear between the frames of
 * every real program.
 */
#ifndef SPROF_NOISE_H
#define SPROF_NOISE_H

#include <stdbool.h>

struct tree_function;

/*
 * True for the import system, runpy, contextlib, functools, and the wrappers of PyTorch and pytest;
 * and for what calls and runs Python code in CPython itself, and for ctypes.
 */
bool noise_is(const struct tree_function *f);

#endif
