/*
 * Messages for the user, always on stderr, each in one line of clean text (core/base/clean_text.h),
 * whatever the names in it hold. The layer that knows the object reports an error once; every
 * caller above passes the errno on.
 *
 *	log_error(-err, "open '%s'", path)  ->  sprof: cannot open 'x': No such file or directory
 *	log_hint("sudo sysctl ...")         ->  hint: sudo sysctl ...
 */
#ifndef SPROF_LOG_H
#define SPROF_LOG_H

enum log_level { LOG_QUIET, LOG_NORMAL, LOG_VERBOSE };

void log_set_level(enum log_level level);

/*
 * From now on messages go to `relay` and not to stderr, for a process that has none. Several
 * threads may call it at a time.
 */
typedef void log_relay(void *context, const char *line);
void log_set_relay(log_relay *relay, void *context);
/* Writes a message that another process relayed; its bytes may be anything. */
void log_relayed(const char *line);

/* "sprof: cannot <what>: <strerror(errnum)>"; errnum 0 leaves the reason out. */
void log_error(int errnum, const char *what, ...) __attribute__((format(printf, 2, 3)));
/* "sprof: warning: <text>"; silent at LOG_QUIET. */
void log_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* "sprof: <text>"; silent at LOG_QUIET. */
void log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* "sprof: <text>"; only at LOG_VERBOSE. */
void log_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* "hint: <text>": the command that fixes the error just reported. */
void log_hint(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
