/*
 * An expression by which functions are chosen: on their names, or on what else is known of them.
 */
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
 * `text` is an extended regular expression, which ignores case unless it holds a capital; or "mod:",
 * "file:" or "kind:" and one for the base name of the module, the source file, the kind. 0, or -EINVAL
 * with a reason in why[].
 */
int pattern_init(struct pattern *p, const char *text, char *why, size_t why_size);
void pattern_fini(struct pattern *p);

bool pattern_fits(const struct pattern *p, const struct tree_function *f);

/* The same rules for case, without the prefixes. */
int pattern_compile(regex_t *regex, const char *text, char *why, size_t why_size);

#endif
