/*
 * Makes frames of imported profiles. Those come with names and mostly without addresses, so a frame
 * is identified by its functions. Strings and modules are ids of the profile.
 */
#ifndef SPROF_NAMED_FRAMES_H
#define SPROF_NAMED_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* Is this the placeholder for an unnamed address of the module: "libx.so+0x12"? */
bool import_is_unnamed(const struct profile *p, uint32_t module, const char *name);

/*
 * The module of that path, and the kind of its functions (enum function_kind), which the path
 * tells: "[kernel.kallsyms]", "[vdso]", "/tmp/perf-12.map", ... PROFILE_NONE for "" and for words
 * that are not modules, such as "[unknown]" or the "[python]" of sprof's own exports. build_id_hex
 * may be "".
 */
uint32_t import_module(struct profile *p, const char *path, const char *build_id_hex,
		       uint8_t *ret_kind);

/*
 * The module of a file of which the device and the inode are known, so that its frames can be named
 * while it is still there.
 */
uint32_t import_file(struct profile *p, const char *path, uint64_t dev, uint64_t ino);

/* The inverse of ranking_kind_name(); NR_FUNCTION_KINDS for other names. */
uint8_t import_kind(const char *name);

#endif
