/*
 * A message is written under the lock of stderr, so that messages of two threads do not mix. The
 * level is the only global mutable state of the program.
 */
#include "core/base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static enum log_level current_level = LOG_NORMAL;

void log_set_level(enum log_level level)
{
	current_level = level;
}

static void emit(const char *prefix, const char *format, va_list ap, int errnum)
{
	flockfile(stderr);
	fputs(prefix, stderr);
	vfprintf(stderr, format, ap);
	if (errnum)
		fprintf(stderr, ": %s", strerror(errnum));
	fputc('\n', stderr);
	funlockfile(stderr);
}

void log_error(int errnum, const char *what, ...)
{
	va_list ap;

	va_start(ap, what);
	emit("sprof: cannot ", what, ap, errnum);
	va_end(ap);
}

#define DEFINE_LOG(name, min_level, prefix)                                                        \
	void name(const char *format, ...)                                                         \
	{                                                                                          \
		va_list ap;                                                                        \
                                                                                                   \
		if (current_level < (min_level))                                                   \
			return;                                                                    \
		va_start(ap, format);                                                              \
		emit(prefix, format, ap, 0);                                                       \
		va_end(ap);                                                                        \
	}

DEFINE_LOG(log_warning, LOG_NORMAL, "sprof: warning: ")
DEFINE_LOG(log_info, LOG_NORMAL, "sprof: ")
DEFINE_LOG(log_debug, LOG_VERBOSE, "sprof: ")
DEFINE_LOG(log_hint, LOG_QUIET, "hint: ")
