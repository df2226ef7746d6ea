/*
 * The file formats of other programs that sprof writes. Each is one const struct exporter in its
 * own NAME_writer.c; exporters.c lists them.
 */
#ifndef SPROF_EXPORTER_H
#define SPROF_EXPORTER_H

#include <stdbool.h>

struct buffer;
struct profile;

struct exporter {
	const char *name;   /* for --format */
	const char *suffix; /* a file name that ends so asks for this format: ".pb.gz" */
	const char *help;   /* one line: the programs that read it */
	/*
	 * Appends the whole file. Names are cleaned (text.h) and escaped as the format asks. 0 or
	 * -errno, not reported: -ERANGE if the sum of weights does not fit the format, -EDOM if the
	 * format holds times and the profile has only counts.
	 */
	int (*write)(struct buffer *b, const struct profile *p);
	/*
	 * For a format that holds one process in a file, or NULL: calls emit() with the name and
	 * content of each file; emit() may change the buffer. 0, -errno as write(), or what emit()
	 * returned. write() returns -E2BIG where there are several.
	 */
	int (*write_files)(const struct profile *p,
			   int (*emit)(void *context, const char *name, struct buffer *b),
			   void *context);
};

extern const struct exporter export_callgrind, export_chrome, export_collapsed, export_csv,
	export_firefox, export_json, export_otlp, export_pprof, export_pstats, export_speedscope,
	export_torch, export_tsv;

/* Ends with NULL. */
extern const struct exporter *const exporter_table[];

/* The format of that name, or NULL. */
const struct exporter *exporter_find(const char *name);
/* Appends the names of all formats, for a message: "collapsed, pprof, ...". */
void exporter_add_names(struct buffer *b);
/* Does a file of that name hold gzip data: "app.trace.json.gz"? */
bool exporter_is_gzipped(const char *path);
/* The format with the longest suffix that the name ends with, before a ".gz" too, or NULL. */
const struct exporter *exporter_guess(const char *path);

#endif
