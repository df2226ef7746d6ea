/*
 * Compiles expressions with the C library's regcomp(), after a check that keeps hostile ones from
 * taking gigabytes.
 */
#include "output/select/pattern.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output/tree/ranking.h"
#include "output/tree/functions.h"

/* Smart case, as in the picture: a capital makes case matter, but the one of \W does not. */
static bool has_capital(const char *s)
{
	for (; *s; s++) {
		if (*s == '\\' && s[1])
			s++;
		else if (isupper((unsigned char)*s))
			return true;
	}
	return false;
}

/*
 * The library expands repetitions: "{250}" makes 250 copies and "+" makes two, so "x{250}{250}" or
 * a row of "+" takes gigabytes. The product of all copies in an expression may be MOST_COPIES.
 */
enum { MOST_BYTES = 1000, MOST_COPIES = 1000 };

static unsigned long copies_of(const char *bound)
{
	char *end;
	unsigned long least = strtoul(bound, &end, 10);
	unsigned long most = *end == ',' ? strtoul(end + 1, NULL, 10) : least;

	return most > least ? most : least > 1 ? least : 1;
}

/* Returns the end of a set in brackets, whose first character may be "]". */
static const char *end_of_set(const char *s)
{
	s += 1 + (s[1] == '^');
	s += *s == ']';
	while (*s && *s != ']')
		s++;
	return s;
}

static const char *too_costly(const char *text)
{
	unsigned long copies = 1;
	bool of_many = false; /* may the part before hold copies itself? */

	if (strlen(text) > MOST_BYTES)
		return "too long, more than 1000 bytes";
	for (const char *s = text; *s; s++) {
		if (*s == '{')
			copies *= copies_of(s + 1);
		else if (*s == '+' && of_many)
			copies *= 2;
		if (copies > MOST_COPIES)
			return "too many repetitions, more than 1000";
		if (*s == '{' && strchr(s, '}'))
			s = strchr(s, '}');
		of_many = strchr("*+?})", *s);
		if (*s == '\\' && s[1])
			s++;
		else if (*s == '[' && *end_of_set(s))
			s = end_of_set(s);
	}
	return NULL;
}

static int compile(regex_t *regex, const char *text, int flags, char *why, size_t why_size)
{
	const char *cost = too_costly(text);
	int err;

	if (cost) {
		snprintf(why, why_size, "%s", cost);
		return -E2BIG;
	}
	err = regcomp(regex, text, REG_EXTENDED | REG_NOSUB | flags);
	if (!err)
		return 0;
	regerror(err, regex, why, why_size);
	return -EINVAL;
}

int pattern_compile(regex_t *regex, const char *text, char *why, size_t why_size)
{
	return compile(regex, text, has_capital(text) ? 0 : REG_ICASE, why, why_size);
}

/* The C library takes exponential time where a back reference does not match. */
static bool has_back_reference(const char *s)
{
	for (; *s; s++)
		if (*s == '\\' && s[1] && isdigit((unsigned char)*++s))
			return true;
	return false;
}

int pattern_compile_untrusted(regex_t *regex, const char *text, char *why, size_t why_size)
{
	if (has_back_reference(text)) {
		snprintf(why, why_size, "a back reference");
		return -EINVAL;
	}
	return compile(regex, text, 0, why, why_size);
}

int pattern_init(struct pattern *p, const char *text, char *why, size_t why_size)
{
	static const struct {
		const char *prefix;
		enum pattern_field field;
	} prefixes[] = {
		{ "mod:", PATTERN_MODULE },
		{ "file:", PATTERN_FILE },
		{ "kind:", PATTERN_KIND },
	};

	p->field = PATTERN_NAME;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
		size_t n = strlen(prefixes[i].prefix);

		if (!strncmp(text, prefixes[i].prefix, n)) {
			p->field = prefixes[i].field;
			text += n;
			break;
		}
	}
	return pattern_compile(&p->regex, text, why, why_size);
}

void pattern_fini(struct pattern *p)
{
	regfree(&p->regex);
}

static const char *field_of(const struct tree_function *f, enum pattern_field field)
{
	switch (field) {
	case PATTERN_NAME: return f->name;
	case PATTERN_MODULE: return f->module;
	case PATTERN_FILE: return f->file;
	case PATTERN_KIND: return ranking_kind_name(f->kind);
	}
	return "";
}

/* Unnamed functions have a kind too, which their place tells; NULL = unknown. */
static const char *kind_of_unnamed(const struct tree_function *f)
{
	if (f->kind != FUNCTION_UNKNOWN)
		return NULL;
	return !strcmp(f->name, "[jit]")      ? ranking_kind_name(FUNCTION_JIT)
	       : !strcmp(f->name, "[kernel]") ? ranking_kind_name(FUNCTION_KERNEL)
					      : NULL;
}

bool pattern_fits(const struct pattern *p, const struct tree_function *f)
{
	const char *kind = p->field == PATTERN_KIND ? kind_of_unnamed(f) : NULL;

	return !regexec(&p->regex, field_of(f, p->field), 0, NULL, 0) ||
	       (kind && !regexec(&p->regex, kind, 0, NULL, 0));
}
