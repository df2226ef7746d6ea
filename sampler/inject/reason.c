/*
 * Fills a reason: the sentence is formatted, the hint is copied; both are cut at INJECT_WHY_SIZE.
 */
#include "sampler/inject/reason.h"

#include <stdarg.h>
#include <stdio.h>

static void fill(struct inject_reason *reason, const char *hint, const char *why, va_list args)
{
	vsnprintf(reason->why, sizeof(reason->why), why, args);
	snprintf(reason->hint, sizeof(reason->hint), "%s", hint);
}

int inject_refuse(struct inject_reason *reason, int err, const char *hint, const char *why, ...)
{
	va_list args;

	va_start(args, why);
	fill(reason, hint, why, args);
	va_end(args);
	reason->only_outside = false;
	return err;
}

int inject_refuse_entry(struct inject_reason *reason, int err, const char *hint, const char *why,
			...)
{
	va_list args;

	va_start(args, why);
	fill(reason, hint, why, args);
	va_end(args);
	reason->only_outside = true;
	return err;
}
