/*
 * Fills a reason: the sentence is formatted, the hint is copied; both are cut at INJECT_WHY_SIZE.
 */
#include "sampler/inject/reason.h"

#include <stdarg.h>
#include <stdio.h>

int inject_refuse(struct inject_reason *reason, int err, const char *hint, const char *why, ...)
{
	va_list args;

	va_start(args, why);
	vsnprintf(reason->why, sizeof(reason->why), why, args);
	va_end(args);
	snprintf(reason->hint, sizeof(reason->hint), "%s", hint);
	return err;
}
