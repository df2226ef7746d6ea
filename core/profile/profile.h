/*
 * The vocabulary of a profile, in memory: strings, modules, threads, frames, stacks, samples, and
 * (once symbolized) functions and locations. Everything is interned and named by a dense uint32_t
 * id that starts at 0 in each table, so a table is a plain array.
 *
 * A frame is an address in a module; its locations say what it is called. One frame has several
 * locations where the compiler inlined: outermost function first. The model is pprof's
 * (Location, Line, Function), so every exporter finds what it needs.
 *
 * A profile takes strings and numbers from hostile files: the caller has checked lengths; names may
 * hold any byte but NUL, and every writer of a format escapes them.
 */
#ifndef SPROF_PROFILE_H
#define SPROF_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/build_id.h"

#define PROFILE_NONE UINT32_MAX /* "no such id" */

/* What a frame's module is. On disk too: explicit values, append only. */
enum module_kind {
	MODULE_ELF = 0,	   /* a file; frame address = file offset of the instruction */
	MODULE_VDSO = 1,   /* frame address = offset from the mapping's start */
	MODULE_KERNEL = 2, /* the kernel and its modules; frame address = virtual address */
	MODULE_JIT = 3, /* code without a file in process `pid`; frame address = virtual address */
	MODULE_MARKER = 4, /* not code; frame address = enum marker */
	MODULE_NAMED = 5,  /* text instead of addresses; frame address = string id of the name */
	/* A Python code object; frame address = line, 0 = unknown. Its frames carry their own names. */
	MODULE_PYTHON = 6,
};

/* Where a walk ended before the root, or what stands for frames nobody can name. On disk too. */
enum marker {
	MARKER_UNKNOWN = 0,	    /* address in no mapping we know */
	MARKER_NO_RULE = 1,	    /* no unwind rule and the frame pointer led nowhere */
	MARKER_READ_FAULT = 2,	    /* the stack could not be read (paged out, or a wild pointer) */
	MARKER_BAD_STACK = 3,	    /* the stack pointer did not move toward the root */
	MARKER_TOO_DEEP = 4,	    /* more frames than a sample holds; the middle was cut */
	MARKER_SNAPSHOT_END = 5,    /* the copied stack bytes ended before the root */
	MARKER_COMPAT_32BIT = 6,    /* a 32-bit program on a 64-bit kernel: not walked */
	MARKER_NO_KERNEL_STACK = 7, /* the kernel did not give its stack */
	MARKER_PYTHON = 8,	    /* Python frames that could not be read */
	MARKER_NO_LAUNCH = 9,	    /* what called the GPU was not seen */
	NR_MARKERS
};

/* "[unknown]", "[no unwind rule]", ...; "[marker]" for values out of range. */
const char *marker_name(enum marker marker);
/* The marker of that name, or of its former name ("[truncated: ..."); -1 for other names. */
int marker_from_name(const char *name, size_t size);

struct profile_module {
	uint32_t path; /* string: as the target sees it; "[vdso]", "[kernel]", "[jit]" otherwise */
	union {	       /* by kind; 0 in other kinds; one field of a recording */
		uint32_t pid;		/* MODULE_JIT: whose */
		uint32_t function_kind; /* MODULE_NAMED: enum function_kind of its frames */
		uint32_t code_name; /* MODULE_PYTHON: string: qualified name of the code object */
	};
	uint8_t kind; /* enum module_kind */
	uint8_t build_id_size;
	uint8_t build_id[BUILD_ID_MAX];
	uint64_t dev;
	union {
		uint64_t ino;	    /* with dev the identity of the file when seen; 0 = unknown */
		uint64_t code_line; /* MODULE_PYTHON: first line of the code object */
	};
};

struct profile_thread {
	uint32_t pid, tid;
	uint32_t comm; /* string; a thread that changes its name gets a new id */
};

struct profile_frame {
	uint32_t module;
	uint32_t first_location; /* index in locations[]; meaningless while nr_locations is 0 */
	uint32_t nr_locations;	 /* 0 = not symbolized (yet, or nothing found) */
	/*
	 * Address inside the instruction that was running or calling: a return address is stored
	 * as address - 1, so that it resolves to the call and not to the line after it.
	 */
	uint64_t address;
};

struct profile_stack {
	uint32_t first_frame; /* index in stack_frames[]; root first */
	uint32_t nr_frames;
};

/*
 * Columns of the profile: what a sample's weight counts; core/profile/column.h says more of each. In columns
 * that are counted exactly, a sample stands for many equal events. On disk too.
 */
enum profile_column {
	COLUMN_CPU = 0,	  /* ns on a CPU */
	COLUMN_COUNT = 1, /* a bare number, as collapsed stacks carry it */
	COLUMN_GPU =
		2, /* ns that kernels, copies and fills took on a GPU, under who launched them */
	COLUMN_GPU_IDLE = 3,	    /* ns that a GPU had nothing to run, under what it waited for */
	COLUMN_GPU_LAUNCHES = 4,    /* operations that ran on a GPU; stacks as in COLUMN_GPU */
	COLUMN_GPU_GAPS = 5,	    /* times that a GPU had nothing to run; stacks as in GPU_IDLE */
	COLUMN_GPU_BYTES = 6,	    /* bytes copied or filled; stacks as in COLUMN_GPU */
	COLUMN_GPU_MEMORY = 7,	    /* bytes of device memory allocated, under who asked for them */
	COLUMN_GPU_ALLOCATIONS = 8, /* how often; stacks as in GPU_MEMORY */
	COLUMN_WALL = 9,	    /* ns that went by, on a CPU or waiting */
	NR_COLUMNS
};

/*
 * What the interpreter said of the sample's thread and its global interpreter lock. Whether one that
 * does not hold it waits for it is on its stack: output/select/gil.h. On disk too.
 */
enum profile_gil {
	GIL_UNKNOWN = 0,   /* no Python runs there, or nobody looked */
	GIL_NO_THREAD = 1, /* a thread that Python knows nothing of, in a process that runs it */
	GIL_HELD = 2,
	GIL_NOT_HELD = 3,
	NR_GIL
};

struct profile_sample {
	uint64_t time_ns; /* CLOCK_MONOTONIC of the recording host; 0 = unknown */
	uint64_t weight;  /* in the column's unit */
	uint32_t thread;  /* PROFILE_NONE in imported profiles */
	uint32_t stack;
	uint16_t cpu;
	uint8_t column; /* enum profile_column */
	uint8_t gil;	/* enum profile_gil */
};

/* What kind of code a function is: decides hue, suffix (_[k] ...) and the "kind" column. */
enum function_kind {
	FUNCTION_NATIVE = 0,
	FUNCTION_KERNEL = 1,
	FUNCTION_JIT = 2,
	FUNCTION_MARKER = 3,
	FUNCTION_THREAD = 4, /* the root box of a thread or process: its comm */
	FUNCTION_PYTHON = 5,
	FUNCTION_GPU = 6,
	FUNCTION_RANGE = 7,
	FUNCTION_UNKNOWN = 8, /* an address without a name */
	NR_FUNCTION_KINDS
};

struct profile_function {
	uint32_t name;	      /* string: demangled, in full */
	uint32_t system_name; /* string: as the symbol table has it; = name where not mangled */
	uint32_t module;      /* id, or PROFILE_NONE */
	uint32_t file;	      /* string: source file, "" = unknown */
	uint32_t start_line;  /* 0 = unknown */
	uint8_t kind;	      /* enum function_kind */
};

struct profile_location {
	uint32_t function;
	uint32_t line; /* 0 = unknown */
	bool inlined;  /* this function was inlined into the location before it */
};

/* How the numbers were obtained, and what is missing from them. All counters are samples. */
struct profile_stats {
	uint64_t nr_samples; /* taken and kept; not what was counted exactly (column_info) */
	uint64_t nr_lost;    /* taken and dropped for want of space */
	uint64_t nr_incomplete[NR_MARKERS]; /* walks that ended in that marker */
	uint64_t nr_snapshots;		    /* unwound later, from a snapshot of the stack */
	uint64_t nr_throttled;		    /* times the kernel throttled the sampling event */
	uint64_t nr_rows;		    /* unwind rows loaded */
	uint64_t nr_limits; /* times a table limit (rows, maps, processes) was hit */
};

struct profile_meta {
	uint32_t hostname, kernel, command, source, event, version; /* strings */
	uint32_t freq_hz;
	uint32_t nr_cpus;
	uint64_t start_realtime_ns; /* Unix time */
	uint64_t start_ns, end_ns;  /* CLOCK_MONOTONIC, as sample times */
	bool unfinished;	    /* the recorder died; what is here is what was flushed */
};

/* What filters took out of the profile since it was read, by column. Not on disk. */
struct profile_filtered {
	uint64_t weight[NR_COLUMNS];
	uint64_t nr_samples[NR_COLUMNS];
};

struct facts;
struct profile_index; /* the hash tables behind interning; profile.c */

struct profile {
	struct profile_meta meta;
	struct profile_stats stats;
	struct profile_filtered filtered;
	char **strings; /* [0] is ""; NUL-terminated, owned by the profile */
	struct profile_module *modules;
	struct profile_thread *threads;
	struct profile_frame *frames;
	struct profile_stack *stacks;
	uint32_t *stack_frames; /* frame ids, PROFILE_NONE after those of each stack */
	struct profile_sample *samples;
	struct profile_function *functions;
	struct profile_location *locations;
	size_t nr_strings, nr_modules, nr_threads, nr_frames, nr_stacks, nr_stack_frames;
	size_t nr_samples, nr_functions, nr_locations;
	struct profile_index *index;
	struct facts *facts;	    /* core/profile/facts.h; NULL where there are none */
	uint64_t nr_facts_left_out; /* rows of a recording that has more than are kept */
};

struct profile *profile_new(void);
void profile_free(struct profile *p);

/*
 * Interning: equal content gives an equal id. The pointers profile->X move when a table grows:
 * keep ids, not pointers, across calls. Arguments are copied.
 */
uint32_t profile_string(struct profile *p, const char *s, size_t length);
uint32_t profile_cstring(struct profile *p, const char *s);
uint32_t profile_module(struct profile *p, const struct profile_module *module);
uint32_t profile_thread(struct profile *p, uint32_t pid, uint32_t tid, uint32_t comm);
uint32_t profile_frame(struct profile *p, uint32_t module, uint64_t address);
/* `frames` root first; an empty stack is legal. */
uint32_t profile_stack(struct profile *p, const uint32_t *frames, size_t nr);
/* The same without looking whether there is an equal one: for inputs that seldom repeat a stack. */
uint32_t profile_new_stack(struct profile *p, const uint32_t *frames, size_t nr);
uint32_t profile_function(struct profile *p, const struct profile_function *function);

/*
 * Convenience over profile_module + profile_frame for the two kinds that need no file. A named
 * frame comes with its location: a function of that name and kind, in no module.
 */
uint32_t profile_marker_frame(struct profile *p, enum marker marker);
uint32_t profile_named_frame(struct profile *p, const char *name, size_t length,
			     enum function_kind kind);

/*
 * The frame of a Python code object at a line (0 = unknown), with its location: the function is called
 * "name (file.py:first line)", so that two of one name are two; its system name is the bare name.
 */
uint32_t profile_python_frame(struct profile *p, uint32_t module, uint64_t line);

void profile_add_sample(struct profile *p, const struct profile_sample *sample);

/* Says what a frame is called: `locations` outermost first. Replaces what was said before. */
void profile_set_locations(struct profile *p, uint32_t frame,
			   const struct profile_location *locations, size_t nr);

/*
 * A new frame that stands for `nr` of the locations of another one, from `first` on: where a part of
 * what was inlined at an address is shown without the rest. It is like no other frame: not interned.
 */
uint32_t profile_part_frame(struct profile *p, uint32_t frame, uint32_t first, uint32_t nr);

/* What to print for a frame without locations, e.g. "libc.so.6+0x1234", "[unknown]"; into buf. */
const char *profile_frame_fallback_name(const struct profile *p, uint32_t frame, char *buf,
					size_t size);

static inline const char *profile_str(const struct profile *p, uint32_t id)
{
	return p->strings[id];
}

#endif
