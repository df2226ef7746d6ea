/* Says why a process cannot be sampled, and what would help: the same words for every source. */
#ifndef SPROF_ATTACH_ERROR_H
#define SPROF_ATTACH_ERROR_H

#include <sys/types.h>

/*
 * Reports "cannot VERB process ID: reason" with a hint. `err` is a -errno; `verb` as "attach to".
 */
void attach_error_report(const char *verb, pid_t id, int err);

#endif
