/* The two faces of `sprof info`: text for people (info_print.c), JSON for programs (info_json.c). */
#ifndef SPROF_INFO_PRINT_H
#define SPROF_INFO_PRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;
struct info;
struct profile;
struct profile_module;

/* Where the profile came from. */
struct info_file {
	const char *path;
	const char *note;    /* "" = nothing is missing */
	uint64_t size_bytes; /* 0 = unknown: a pipe */
	size_t columns;	     /* of the terminal, 0 = it is none */
	bool unicode;	     /* which that shows */
};

void info_print_text(struct buffer *b, const struct info *info, const struct profile *p,
		     const struct info_file *file);

/*
 * One object. "version" counts changes that break readers; keys may be added without one. The keys
 * are documented in sprof-info(1).
 */
void info_print_json(struct buffer *b, const struct info *info, const struct profile *p,
		     const struct info_file *file);

/* What both print. */
double info_bytes_per_sample(const struct info *info, const struct info_file *file);
/* The first `nr` hexadecimal digits. */
void info_add_build_id(struct buffer *b, const struct profile_module *module, int nr);

#endif
