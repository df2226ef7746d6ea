/*
 * The formats in which a profile leaves for other programs. Each is one const struct in a file of its
 * own, output/export_NAME.c, and is listed in the table in output/export/exporters.c.
 */
#ifndef SPROF_EXPORTER_H
#define SPROF_EXPORTER_H

struct buffer;
struct profile;

struct exporter {
	const char *name;   /* for --format */
	const char *suffix; /* of the files it is guessed from: ".pb.gz" */
	const char *help;   /* one line: what reads it */
	/*
	 * Appends the whole file. Names are cleaned (text.h) and escaped as the format asks. 0, or
	 * -ERANGE, not reported, when the sum of weights does not fit the format, -EDOM when the
	 * format holds times and the profile has counts only.
	 */
	int (*write)(struct buffer *b, const struct profile *p);
};

extern const struct exporter export_callgrind, export_chrome, export_collapsed, export_csv,
	export_firefox, export_json, export_pprof, export_pstats, export_speedscope, export_tsv;

/* Ends with NULL. */
extern const struct exporter *const exporter_table[];

/* By name; NULL where there is none. */
const struct exporter *exporter_find(const char *name);
/* "collapsed, pprof, ...": all of them, for a message. */
void exporter_add_names(struct buffer *b);
/* By the end of a file's name: the longest suffix that fits; NULL where none does. */
const struct exporter *exporter_guess(const char *path);

#endif
