/*
 * A message is written under the lock of stderr, so that messages of two threads do not mix. The
 * level and the relay are the only global mutable state of the program.
 */
#include "core/base/log.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define RELAYED_MAX 1024 /* bytes of a message that is relayed */

static enum log_level current_level = LOG_NORMAL;
static log_relay *current_relay;
static void *relay_context;

void log_set_level(enum log_level level)
{
	current_level = level;
}

void log_set_relay(log_relay *relay, void *context)
{
	current_relay = relay;
	relay_context = context;
}

void log_relayed(const char *line)
{
	flockfile(stderr);
	for (const char *at = line; *at; at++) {
		unsigned char c = (unsigned char)*at;
		bool is_control = c < ' ' || c == 0x7f ||
				  (c >= 0x80 && c < 0xa0 && at > line && at[-1] == '\xc2');

		fputc(is_control ? '?' : c, stderr);
	}
	fputc('\n', stderr);
	funlockfile(stderr);
}

static void emit_relayed(const char *prefix, const char *format, va_list ap, int errnum)
{
	char line[RELAYED_MAX];
	size_t at = (size_t)snprintf(line, sizeof(line), "%s", prefix);

	vsnprintf(line + at, sizeof(line) - at, format, ap);
	at = strlen(line);
	if (errnum)
		snprintf(line + at, sizeof(line) - at, ": %s", strerror(errnum));
	current_relay(relay_context, line);
}

static void emit(const char *prefix, const char *format, va_list ap, int errnum)
{
	if (current_relay) {
		emit_relayed(prefix, format, ap, errnum);
		return;
	}
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
