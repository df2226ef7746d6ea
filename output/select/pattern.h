/* An expression that selects functions by name, module, source file or kind. */
#ifndef SPROF_PATTERN_H
#define SPROF_PATTERN_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

struct tree_function;

enum pattern_field { PATTERN_NAME, PATTERN_MODULE, PATTERN_FILE, PATTERN_KIND };

struct pattern {
	enum pattern_field field;
	regex_t regex;
};

/*
 * `text` is a POSIX extended regular expression for the name. With a prefix "mod:", "file:" or
 * "kind:" it is for the base name of the module, the source file or the kind. Case matters only if
 * it has a capital letter. 0, or, with the reason in why[], -EINVAL if it is not a valid
 * expression, -E2BIG if it would cost too much memory.
 */
int pattern_init(struct pattern *p, const char *text, char *why, size_t why_size);
void pattern_fini(struct pattern *p);

bool pattern_fits(const struct pattern *p, const struct tree_function *f);

/* Compiles an expression with the same rules, but without prefixes. */
int pattern_compile(regex_t *regex, const char *text, char *why, size_t why_size);

/* Compiles an expression that a file holds: case matters, and back references are an error. */
int pattern_compile_untrusted(regex_t *regex, const char *text, char *why, size_t why_size);

#endif
