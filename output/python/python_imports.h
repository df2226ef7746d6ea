/*
 * What importing Python modules cost: each module below the one that imported it, by the frames of
 * their top level code (<module>) and of the import system. While a module is still being found,
 * samples do not have its name: that time is charged to the module whose import statement asked for
 * it.
 */
#ifndef SPROF_PYTHON_IMPORTS_H
#define SPROF_PYTHON_IMPORTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/profile/profile.h"

struct buffer;
struct summary;

struct python_import {
	uint32_t parent;  /* index; the root is its own parent */
	uint32_t file;	  /* string of the profile: the module's source file; 0 = the root */
	uint64_t self;	  /* running its top level code, without imports */
	uint64_t finding; /* finding and reading modules, at its import statements */
	uint64_t total;	  /* both, and everything that it imported */
	uint64_t samples; /* of the total */
	uint64_t failed;  /* only if counted: imports of `samples` that found no module */
};

/*
 * Sampled, or counted (sprof record --calls imports). Counted times are exact and of the wall
 * clock; then `file` is the module's name, `self` includes finding it, and `samples` is how often
 * it was imported.
 */
struct python_imports {
	/* [0] is the program, with its own imports; parents come first */
	struct python_import *nodes;
	size_t nr_nodes;
	bool counted;
	uint64_t whole; /* counted: ns of the recording, of which shares are taken */
};

void python_imports_init(struct python_imports *im, const struct profile *p,
			 enum profile_column column);
/* Returns false, and leaves *im as it was, if nothing was counted. */
bool python_imports_init_counted(struct python_imports *im, const struct profile *p);
void python_imports_fini(struct python_imports *im);

/* Appends "pkg.module" for "/usr/lib/python3/dist-packages/pkg/module.py". */
void python_imports_add_name(struct buffer *b, const char *file);

struct python_imports_opts {
	bool flat;	   /* flat and by own time; else nested and by total */
	uint32_t max_rows; /* 0 = all */
	size_t columns;	   /* 0 = not cut */
	bool unicode;
};

/* Returns false, and writes nothing, if no sample was taken in an import and none was counted. */
bool python_imports_write(struct buffer *b, const struct python_imports *im,
			  const struct profile *p, const struct summary *summary,
			  const struct python_imports_opts *opts);
/*
 * Writes one JSON object: version, unit, total, modules with module, file, parent (index, -1),
 * sums.
 */
void python_imports_write_json(struct buffer *b, const struct python_imports *im,
			       const struct profile *p, const struct summary *summary);

#endif
