/*
 * What importing Python modules cost: each module under the one that imported it, by the frames of
 * their code (<module>) and of the import system. Sampling has no names for what is still being
 * found: that time stands with the module whose import statement asked for it.
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
	uint32_t parent;  /* index; the root is its own */
	uint32_t file;	  /* string of the profile: the module's source file; 0 = the root */
	uint64_t self;	  /* running its top level code, without imports */
	uint64_t finding; /* looking for modules and reading them, at its import statements */
	uint64_t total;	  /* both, and all that it imported */
	uint64_t samples; /* of the total */
	uint64_t failed;  /* counted only: how many of them found nothing */
};

/*
 * Sampled, or counted (sprof record --calls imports): then times are of the wall clock and exact, `file` is the module's
 * name, `self` has the finding in it, and `samples` says how often it was imported.
 */
struct python_imports {
	struct python_import *nodes; /* [0] is the program: what it imports itself; parents first */
	size_t nr_nodes;
	bool counted;
	uint64_t whole; /* counted: what percent are of, ns of the recording */
};

void python_imports_init(struct python_imports *im, const struct profile *p,
			 enum profile_column column);
/* False where nothing was counted, and *im is not touched. */
bool python_imports_init_counted(struct python_imports *im, const struct profile *p);
void python_imports_fini(struct python_imports *im);

/* "pkg.module" from "/usr/lib/python3/dist-packages/pkg/module.py"; appended to b. */
void python_imports_add_name(struct buffer *b, const char *file);

struct python_imports_opts {
	bool flat;	   /* by own time, else nested, by total */
	uint32_t max_rows; /* 0 = all */
	size_t columns;	   /* 0 = not cut */
	bool unicode;
};

/* Returns false, and writes nothing, where no sample was taken in an import, and none was counted. */
bool python_imports_write(struct buffer *b, const struct python_imports *im,
			  const struct profile *p, const struct summary *summary,
			  const struct python_imports_opts *opts);
/* One JSON object: version, unit, total, modules with module, file, parent (index, -1), sums. */
void python_imports_write_json(struct buffer *b, const struct python_imports *im,
			       const struct profile *p, const struct summary *summary);

#endif
