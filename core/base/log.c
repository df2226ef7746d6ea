/*
 * A message is written in one piece, so that messages of two threads do not mix, and as clean text:
 * it may hold a name that a target or a file chose, and must not tell the terminal anything. The
 * level and the relay are the only global mutable state of the program.
 */
#include "core/base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buffer.h"
#include "core/base/clean_text.h"

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

static void emit(const char *prefix, const char *format, va_list ap, int errnum)
{
	struct buffer line = { 0 };
	char *text = NULL;
	int length = vasprintf(&text, format, ap);

	buffer_add_string(&line, prefix);
	if (length > 0)
		text_add_clean(&line, text, (size_t)length);
	if (errnum)
		buffer_printf(&line, ": %s", strerror(errnum));
	if (current_relay) {
		current_relay(relay_context, buffer_cstring(&line));
	} else {
		buffer_add_char(&line, '\n');
		fwrite(line.data, 1, line.size, stderr);
	}
	buffer_fini(&line);
	free(text);
}

static void __attribute__((format(printf, 1, 2))) emit_line(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	emit("", format, ap, 0);
	va_end(ap);
}

void log_relayed(const char *line)
{
	emit_line("%s", line);
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
