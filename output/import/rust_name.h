/* Names of Rust's legacy mangling that were demangled as C++, as perf prints them. */
#ifndef SPROF_RUST_NAME_H
#define SPROF_RUST_NAME_H

#include <stdbool.h>
#include <stddef.h>

struct buffer;

/*
 * Appends the name as it was written: "_$LT$T$u20$as$u20$U$GT$::f::h0123456789abcdef" is
 * "<T as U>::f". False, and nothing is appended, if it is not such a name.
 */
bool rust_name_add(struct buffer *b, const char *s, size_t n);

#endif
