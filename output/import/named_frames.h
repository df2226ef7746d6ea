/*
 * Frames of imported profiles: they come with names, and mostly without addresses.
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
	bool inlined;			  /* into the one before it */
};

/* A frame that stands for these functions, outermost first (nr >= 1); equal ones are one frame. */
uint32_t import_frame(struct profile *p, const struct import_function *functions, size_t nr);

/*
 * The same at an address of a module, where that is free for it: two programs' files may say different
 * things of one address, and then it is a frame without one.
 */
uint32_t import_frame_at(struct profile *p, uint32_t module, uint64_t address,
			 const struct import_function *functions, size_t nr);

/* Code of a module that nobody named. */
uint32_t import_unnamed_frame(struct profile *p, uint32_t module, uint64_t address);

/* Is this what code of the module is called that has no name: "libx.so+0x12"? */
bool import_is_unnamed(const struct profile *p, uint32_t module, const char *name);

/*
 * The module of that path, and what its name says of the code in it: "[kernel.kallsyms]", "[vdso]",
 * "/tmp/perf-12.map", ... PROFILE_NONE for "" and for names that stand for none, such as "[unknown]"
 * or the "[python]" of our own exports.
 */
uint32_t import_module(struct profile *p, const char *path, const char *build_id_hex,
		       uint8_t *ret_kind);

/* The kind of that name (ranking_kind_name()), or NR_FUNCTION_KINDS. */
uint8_t import_kind(const char *name);

#endif
