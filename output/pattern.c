/* Expressions are POSIX's, as the library has them. */
#include "output/pattern.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "output/ranking.h"
#include "output/tree_functions.h"

/* Smart case, as in the picture: capitals in the expression mean what they say, those of \W do not. */
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

int pattern_compile(regex_t *regex, const char *text, char *why, size_t why_size)
{
	int flags = REG_EXTENDED | REG_NOSUB | (has_capital(text) ? 0 : REG_ICASE);
	int err = regcomp(regex, text, flags);

	if (!err)
		return 0;
	regerror(err, regex, why, why_size);
	return -EINVAL;
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

bool pattern_fits(const struct pattern *p, const struct tree_function *f)
{
	return !regexec(&p->regex, field_of(f, p->field), 0, NULL, 0);
}
