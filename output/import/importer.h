/*
 * Files of other profilers that sprof reads. Their content tells the formats apart, never their
 * name. Each format is one const struct importer in its own NAME_reader.c; importers.c lists them.
 */
#ifndef SPROF_IMPORTER_H
#define SPROF_IMPORTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct profile;

/* The formats are told apart by the first bytes of a file, at most this many. */
#define IMPORT_HEAD_SIZE ((size_t)64 * 1024)

/* What the user asked for; an importer ignores what its format does not have. */
struct import_opts {
	const char *event; /* of several events; NULL: the one with the most samples */
};

struct importer {
	const char *name; /* for messages and --help: "pprof" */
	/*
	 * Frames may come as addresses in mapped files: the caller names them with the files of
	 * this machine, if those are still the same.
	 */
	bool unnamed;
	/* Does a file that begins with these bytes look like this format? */
	bool (*is)(const char *data, size_t size);
	/*
	 * Reads the rest of the file into a new profile, which the caller frees. `name` names the
	 * file in messages, and becomes the profile's command if the file does not say one. 0 or
	 * -errno, reported; -EINVAL if the file is damaged or holds no sample.
	 */
	int (*read)(FILE *f, const char *name, const struct import_opts *opts,
		    struct profile **ret_profile);
};

extern const struct importer import_bpftrace, import_callgrind, import_chrome_trace,
	import_collapsed, import_dtrace, import_ghc, import_macos_sample, import_cpuprofile,
	import_firefox, import_jfr, import_legacy_cpu, import_legacy_text, import_perf_script,
	import_pprof, import_speedscope, import_vtune;

/* Ends with NULL. */
extern const struct importer *const importer_table[];

/*
 * The first importer whose is() says yes, or collapsed stacks, the last of the table. NULL where
 * the file is of a format that sprof does not read, reported with `name`.
 */
const struct importer *importer_detect(const char *data, size_t size, const char *name);

#endif
