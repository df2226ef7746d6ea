/*
 * The two outputs of `sprof info`: text for people (info_print.c) and JSON for programs
 * (info_json.c).
 */
#ifndef SPROF_INFO_PRINT_H
#define SPROF_INFO_PRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;
struct info;
struct profile;
struct profile_module;

struct segments_found;

struct info_file {
	const char *path;
	const char *note;		       /* what is missing from it; "" = nothing */
	uint64_t size_bytes;		       /* 0 = unknown: a pipe */
	const struct segments_found *segments; /* if it was a folder; else NULL */
	size_t columns;			       /* of the terminal; 0 = no terminal */
	bool unicode;			       /* the terminal shows Unicode */
};

void info_print_text(struct buffer *b, const struct info *info, const struct profile *p,
		     const struct info_file *file);

/*
 * Writes one JSON object. "version" rises when a change breaks readers; keys may be added without
 * that. sprof-info(1) documents the keys.
 */
void info_print_json(struct buffer *b, const struct info *info, const struct profile *p,
		     const struct info_file *file);

/* 0 if the size of the file is not known. */
double info_bytes_per_sample(const struct info *info, const struct info_file *file);
/* Appends the first `nr` hexadecimal digits. */
void info_add_build_id(struct buffer *b, const struct profile_module *module, int nr);

#endif
