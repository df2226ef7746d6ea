/*
 * What other programs wrote and sprof reads, told apart by content. Each format is one const struct in
 * a file of its own, output/import_NAME.c, and is listed in output/import/importers.c.
 */
#ifndef SPROF_IMPORTER_H
#define SPROF_IMPORTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct profile;

/* How much of a file's beginning is looked at, in bytes. */
#define IMPORT_HEAD_SIZE ((size_t)64 * 1024)

struct importer {
	const char *name; /* for messages and --help: "pprof" */
	/* Does a file that begins so look like it? */
	bool (*is)(const char *data, size_t size);
	/*
	 * Reads to the end of the file into a profile that the caller frees. `name` is for messages,
	 * and the profile's command where the file has none. 0 or -errno, reported: -EINVAL where it
	 * is damaged or holds no sample.
	 */
	int (*read)(FILE *f, const char *name, struct profile **ret_profile);
};

extern const struct importer import_collapsed, import_perf_script, import_pprof, import_speedscope;

/* Ends with NULL. */
extern const struct importer *const importer_table[];

/* The first that says yes; the last one, collapsed stacks, where none does. */
const struct importer *importer_detect(const char *data, size_t size);

#endif
