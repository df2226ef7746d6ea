/* What to do about a process that lets no code of ours in. */
#ifndef SPROF_OTHER_SOURCES_H
#define SPROF_OTHER_SOURCES_H

#include <stddef.h>
#include <sys/types.h>

struct inject_reason;
struct source_config;

/*
 * Writes the hint for a refusal: what the reason says fixes it, and the sources that would sample
 * the process on this host as `config` asks. "" where there is nothing to do. Takes the rights that
 * opening these sources takes.
 */
void other_sources_hint(const struct inject_reason *reason, pid_t pid,
			const struct source_config *config, char *hint, size_t size);

#endif
