/*
 * Asks each source whether it can work for this target and takes the first that says yes. With
 * "auto", the reasons of the sources that it passed over are collected, so that one message can say
 * them.
 */
#include "cli/record/choose_source.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/profile/source.h"

/* Reports why sources do not work here: as errors, each with its remedy, or joined in one line. */
struct passed_over {
	char *names, *reasons; /* the reasons of the sources that were asked before */
};

static void pass_over(struct passed_over *p, const char *name, const char *why)
{
	char *names = p->names ? xasprintf("%s, %s", p->names, name) : xstrdup(name);
	char *reasons = p->reasons ? xasprintf("%s; %s", p->reasons, why) : xstrdup(why);

	free(p->names);
	free(p->reasons);
	*p = (struct passed_over){ names, reasons };
}

static void report_unusable(const char *name)
{
	bool any = !strcmp(name, "auto");
	char why[256], hint[256];

	for (size_t i = 0; source_table[i]; i++) {
		const struct source_ops *ops = source_table[i];

		if ((!any && strcmp(name, ops->name)) ||
		    ops->probe(why, sizeof(why), hint, sizeof(hint)))
			continue;
		log_error(0, "sample with %s: %s", ops->name, why);
		if (hint[0])
			log_hint("%s", hint);
	}
}

const struct source_ops *record_source_choose(const char *name)
{
	const struct source_ops *chosen = NULL;
	bool any = !strcmp(name, "auto");
	struct passed_over passed = { 0 };
	char why[256], hint[256];

	for (size_t i = 0; source_table[i] && !chosen; i++) {
		const struct source_ops *ops = source_table[i];

		if (!any && strcmp(name, ops->name))
			continue;
		if (ops->probe(why, sizeof(why), hint, sizeof(hint)))
			chosen = ops;
		else
			pass_over(&passed, ops->name, why);
	}
	if (!chosen)
		report_unusable(name);
	else if (passed.names)
		log_info("sampling with %s, not %s: %s (sprof doctor says what fixes it)",
			 chosen->name, passed.names, passed.reasons);
	free(passed.names);
	free(passed.reasons);
	return chosen;
}
