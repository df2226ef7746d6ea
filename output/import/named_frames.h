/*
 * Makes frames of imported profiles. Those come with names and mostly without addresses, so a frame
 * is identified by its functions. Strings and modules are ids of the profile.
 */
#ifndef SPROF_NAMED_FRAMES_H
#define SPROF_NAMED_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/number_map.h"

struct profile;

struct import_function {
	uint32_t name, system_name, file; /* strings */
	uint32_t start_line, line;	  /* 0 = unknown */
	uint32_t module;		  /* id, or PROFILE_NONE */
	uint8_t kind;			  /* enum function_kind */
	bool inlined;			  /* into the function before it */
};

/* The frame of these functions, outermost first, nr >= 1. Equal functions give the same frame. */
uint32_t import_frame(struct profile *p, const struct import_function *functions, size_t nr);

/*
 * The frame of these functions at an address of a module. Two files may name one address
 * differently: if it already has other functions, the result is a frame without an address.
 */
uint32_t import_frame_at(struct profile *p, uint32_t module, uint64_t address,
			 const struct import_function *functions, size_t nr);

/* The frame of an address that the file has no name for. */
uint32_t import_unnamed_frame(struct profile *p, uint32_t module, uint64_t address);

/* The stack of frames that a file lists leaf first, as most formats do; reverses the array. */
uint32_t import_stack(struct profile *p, uint32_t *leaf_first, size_t nr);

/*
 * Is this the placeholder for an unnamed address of the module with that base name: "libx.so+0x12"?
 * Looks at no more of both than a path and an address can have.
 */
bool import_is_unnamed(const char *module_base, const char *name);

/*
 * The module of that path, and the kind of its functions (enum function_kind), which the path
 * tells: "[kernel.kallsyms]", "[vdso]", "/tmp/perf-12.map", ... PROFILE_NONE for "" and for words
 * that are not modules, such as "[unknown]" or the "[python]" of sprof's own exports. build_id_hex
 * may be "".
 */
uint32_t import_module(struct profile *p, const char *path, const char *build_id_hex,
		       uint8_t *ret_kind);

struct import_module {
	uint32_t id; /* PROFILE_NONE: none */
	uint8_t kind;
	const char *base; /* the base name of the module's path; good as long as the profile */
};

/*
 * What import_module() says of paths and build-ids. A file can refer to a path of megabytes from
 * millions of places: it is taken apart once. Zeroed is valid and empty; for one profile.
 */
struct import_modules {
	struct number_map by_path; /* by path and build-id: index in the list */
	struct import_module *list;
	size_t nr, capacity;
};

/* `path` and `build_id` are strings of the profile. */
struct import_module import_modules_find(struct import_modules *modules, struct profile *p,
					 uint32_t path, uint32_t build_id);
void import_modules_fini(struct import_modules *modules);

/*
 * The module of a file of which the device and the inode are known, so that its frames can be named
 * while it is still there.
 */
uint32_t import_file(struct profile *p, const char *path, uint64_t dev, uint64_t ino);

/* The inverse of ranking_kind_name(); NR_FUNCTION_KINDS for other names. */
uint8_t import_kind(const char *name);

#endif
