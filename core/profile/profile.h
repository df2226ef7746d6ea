/*
 * The vocabulary of a profile in memory: strings, modules, threads, frames, stacks, samples, and
 * after symbolization functions and locations. Everything is interned and named by a dense uint32_t
 * id that starts at 0 in each table, so a table is a plain array.
 *
 * A frame is an address in a module; its locations say what it is called. One frame has several
 * locations where the compiler inlined: outermost function first. The model is that of pprof
 * (Location, Line, Function), so every exporter finds what it needs.
 *
 * A profile takes strings and numbers from hostile files. The caller has checked lengths; names may
 * hold any byte but NUL, and every writer of a format escapes them.
 */
#ifndef SPROF_PROFILE_H
#define SPROF_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/build_id.h"

#define PROFILE_NONE UINT32_MAX /* "no such id" */

/* The kind of a module. On disk too: explicit values, append only. */
enum module_kind {
	MODULE_ELF = 0,	   /* a file; frame address = file offset of the instruction */
	MODULE_VDSO = 1,   /* frame address = offset from the mapping's start */
	MODULE_KERNEL = 2, /* the kernel and its modules; frame address = virtual address */
	MODULE_JIT = 3,	   /* runtime code of process `pid`; frame address = virtual address */
	MODULE_MARKER = 4, /* not code; frame address = enum marker, or that of markers.h */
	MODULE_NAMED = 5,  /* text instead of addresses; frame address = string id of the name */
	/*
	 * A Python code object; frame address = line, 0 = unknown. Its frames carry their own
	 * names.
	 */
	MODULE_PYTHON = 6,
};

/* Why a walk ended before the root, or why frames cannot be named. On disk too. */
enum marker {
	MARKER_UNKNOWN = 0,	    /* the address is in no known mapping */
	MARKER_NO_RULE = 1,	    /* no unwind rule and the frame pointer led nowhere */
	MARKER_READ_FAULT = 2,	    /* the stack could not be read (paged out, or a wild pointer) */
	MARKER_BAD_STACK = 3,	    /* the stack pointer did not move toward the root */
	MARKER_TOO_DEEP = 4,	    /* more frames than a sample holds; the middle was cut */
	MARKER_SNAPSHOT_END = 5,    /* the copied stack bytes ended before the root */
	MARKER_COMPAT_32BIT = 6,    /* a 32-bit program on a 64-bit kernel: not walked */
	MARKER_NO_KERNEL_STACK = 7, /* the kernel did not deliver its own stack */
	MARKER_PYTHON = 8,	    /* Python frames that could not be read */
	MARKER_NO_LAUNCH = 9,	    /* the launch of this GPU work was not seen */
	MARKER_OVER_LIMIT = 10,	    /* the recorder's tables had no room for the code's file */
	MARKER_PARSER_FAILED = 11,  /* reading the unwind rules of this file failed: no rule */
	MARKER_TOO_LONG = 12,	    /* walking further would have taken too long */
	/*
	 * Like TOO_LONG, but the root end is known: below the marker are frames that an earlier
	 * walk of the thread found, and that are still on the stack.
	 */
	MARKER_LEFT_OUT = 13,
	MARKER_REPEATED = 14, /* frames that are counted, not stored: markers.h */
	/* No rule led on; the callers below the marker were searched for on the stack. */
	MARKER_GUESSED = 15,
	MARKER_NO_TABLE = 16, /* the unwind table of this code was not ready */
	NR_MARKERS
};

/* "[unknown]", "[no unwind rule]", ...; "[marker]" for values out of range. */
const char *marker_name(enum marker marker);
/*
 * The marker of that name, or of its former name ("[truncated: ..."), or MARKER_REPEATED for a name
 * of markers.h; -1 for other names.
 */
int marker_from_name(const char *name, size_t size);

/* Adds, up to UINT64_MAX: what files and targets say may be of any size. */
static inline void add_clamped(uint64_t *sum, uint64_t more)
{
	if (__builtin_add_overflow(*sum, more, sum))
		*sum = UINT64_MAX;
}

struct profile_module {
	uint32_t path; /* string: as the target sees it; or "[vdso]", "[kernel]", "[jit]" */
	union {	       /* by kind, 0 in other kinds; one field on disk */
		/* MODULE_JIT: its process */
		uint32_t pid;
		uint32_t function_kind; /* MODULE_NAMED: enum function_kind of its frames */
		uint32_t code_name; /* MODULE_PYTHON: string: qualified name of the code object */
		/* MODULE_ELF: 1: each frame begins a run of addresses (names_folder.h) */
		uint32_t begins_runs;
	};
	uint8_t kind; /* enum module_kind */
	uint8_t build_id_size;
	uint8_t build_id[BUILD_ID_MAX];
	uint64_t dev;
	union {
		uint64_t ino;	    /* with dev the identity of the file; 0 = unknown */
		uint64_t code_line; /* MODULE_PYTHON: first line of the code object */
	};
};

/* Are its frames addresses of code, which symbol tables name? */
static inline bool profile_module_has_addresses(const struct profile_module *m)
{
	return m->kind == MODULE_ELF || m->kind == MODULE_VDSO || m->kind == MODULE_KERNEL ||
	       m->kind == MODULE_JIT;
}

struct profile_thread {
	uint32_t pid, tid;
	uint32_t comm; /* string; a thread that changes its name gets a new id */
	uint32_t host; /* string; 0: the first host of the profile, or the only one: hosts.h */
};

struct profile_frame {
	uint32_t module;
	uint32_t first_location; /* index in locations[]; meaningless while nr_locations is 0 */
	uint32_t nr_locations;	 /* 0 = not symbolized yet, or unnamed */
	/*
	 * An address inside the instruction that was running or calling. A return address is stored
	 * as address - 1, so that it resolves to the call and not to the line after it.
	 */
	uint64_t address;
};

struct profile_stack {
	uint32_t first_frame; /* index in stack_frames[]; root first */
	uint32_t nr_frames;
};

/*
 * Columns of the profile: what the weight of a sample counts (see column.h). In columns that are
 * counted exactly, one sample stands for many equal events. On disk too.
 */
enum profile_column {
	COLUMN_CPU = 0,	  /* ns on a CPU */
	COLUMN_COUNT = 1, /* a bare number, as collapsed stacks carry it */
	COLUMN_GPU =
		/*
		 * ns that kernels, copies and fills took on a GPU, below the code that launched
		 * them
		 */
	2,
	/* ns in which a GPU had nothing to run, below the code it waited for */
	COLUMN_GPU_IDLE = 3,
	COLUMN_GPU_LAUNCHES = 4, /* operations that ran on a GPU; stacks as in COLUMN_GPU */
	COLUMN_GPU_GAPS = 5,	 /* how often a GPU ran out of work; stacks as in GPU_IDLE */
	COLUMN_GPU_BYTES = 6,	 /* bytes copied or filled; stacks as in COLUMN_GPU */
	/* bytes of device memory allocated, below the code that asked for them */
	COLUMN_GPU_MEMORY = 7,
	COLUMN_GPU_ALLOCATIONS = 8, /* how many allocations; stacks as in GPU_MEMORY */
	COLUMN_WALL = 9,	    /* ns of elapsed time, on a CPU or waiting */
	/*
	 * Columns of imported files. Those that are sums (see column.h) come in pairs, a value and
	 * the count of its events.
	 */
	COLUMN_EVENTS = 10,    /* events of a counter, such as cycles: a sample weighs its period */
	COLUMN_ALLOCATED = 11, /* bytes of memory allocated */
	COLUMN_ALLOCATIONS = 12,  /* how many allocations; stacks as in ALLOCATED */
	COLUMN_LIVE = 13,	  /* bytes of memory allocated and not yet freed */
	COLUMN_LIVE_OBJECTS = 14, /* how many such allocations; stacks as in LIVE */
	COLUMN_DELAY = 15,	  /* ns that threads were blocked, below the code that caused it */
	COLUMN_CONTENTIONS = 16,  /* how often; stacks as in DELAY */
	COLUMN_TIME = 17,	  /* ns of any other time */
	COLUMN_BYTES = 18,	  /* any other bytes */
	COLUMN_COST = 19,	/* events of a simulation that counted all: instructions, misses */
	COLUMN_WAITING = 20,	/* ns that threads waited for something other than a CPU */
	COLUMN_RUNNABLE = 21,	/* ns that threads could have run and waited for a CPU */
	COLUMN_LONG_CALLS = 22, /* ns of each long system call */
	/*
	 * Events of sprof record -e, such as page faults: a sample weighs the events since the one
	 * before. column_info_of() has their names.
	 */
	COLUMN_EVENT_1 = 23,
	COLUMN_EVENT_8 = 30,
	/* ns on a CPU, divided by the number of the targets' threads that ran at that moment */
	COLUMN_LATENCY = 31,
	/*
	 * ns from the allocation of a sampled block until it was freed: a sample at the free, with
	 * thread and stack of the block's samples in ALLOCATED and ALLOCATIONS, which are that much
	 * older. Tells what was live at any time (live_blocks.h); no table shows it.
	 */
	COLUMN_LIFETIME = 32,
	/*
	 * bytes by which resident memory of processes grew, without files, below the code that
	 * touched it first; these are not allocations
	 */
	COLUMN_GROWTH = 33,
	/*
	 * samples of warps inside kernels (sprof record --pc-sampling): below the kernel the source
	 * line or instruction, and why the warp waited. They say where in a kernel time goes, not
	 * how much time that is.
	 */
	COLUMN_GPU_SAMPLES = 34,
	/*
	 * Memory of tensors, as the caching allocator of PyTorch reports it: the four columns of
	 * each kind are in the order of those from COLUMN_ALLOCATED on (column.h).
	 */
	COLUMN_GPU_ALLOCATED = 35,
	COLUMN_GPU_BLOCKS = 36,
	COLUMN_GPU_LIVE = 37,
	COLUMN_GPU_LIVE_BLOCKS = 38,
	COLUMN_CPU_ALLOCATED = 39,
	COLUMN_CPU_BLOCKS = 40,
	COLUMN_CPU_LIVE = 41,
	COLUMN_CPU_LIVE_BLOCKS = 42,
	NR_COLUMNS
};

/* What handed out memory; each kind has four columns. Values of different kinds are never added. */
enum memory_kind {
	MEMORY_MALLOC = 0,	/* malloc(3) and its kin */
	MEMORY_GPU_TENSORS = 1, /* tensors on any device but the CPU */
	MEMORY_CPU_TENSORS = 2,
	NR_MEMORY_KINDS
};

#define NR_EVENT_COLUMNS (COLUMN_EVENT_8 - COLUMN_EVENT_1 + 1)

/*
 * The state of the sample's thread towards the global interpreter lock, as the interpreter says.
 * Whether a thread that does not hold the lock waits for it is on its stack: output/select/gil.h.
 * On disk too.
 */
enum profile_gil {
	GIL_UNKNOWN = 0,   /* the process runs no Python, or its interpreter could not be read */
	GIL_NO_THREAD = 1, /* a thread unknown to Python, in a process that runs Python */
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
	uint8_t column;	 /* enum profile_column */
	uint8_t gil;	 /* enum profile_gil */
	uint32_t labels; /* string: see labels.h; 0 = none */
};

/* The kind of code of a function. Decides its hue, its suffix (_[k] ...) and the "kind" column. */
enum function_kind {
	FUNCTION_NATIVE = 0,
	FUNCTION_KERNEL = 1,
	FUNCTION_JIT = 2,
	FUNCTION_MARKER = 3,
	FUNCTION_THREAD = 4, /* the root frame of a thread or process: its comm */
	FUNCTION_PYTHON = 5,
	FUNCTION_GPU = 6,
	FUNCTION_RANGE = 7,
	FUNCTION_UNKNOWN = 8, /* an address without a name */
	FUNCTION_WAIT = 9,    /* what a thread waits for: on top of a wait's stack */
	NR_FUNCTION_KINDS
};

/* Names of FUNCTION_WAIT that join the waits of a chain (sampler/waiting/wait_stacks.c). */
#define WOKEN_BY "woken by "	      /* and the name of a thread: the waker's frames follow */
#define WAITED_BEFORE "waited before" /* the waker: its own last wait follows */

struct profile_function {
	uint32_t name;	      /* string: demangled, in full */
	uint32_t system_name; /* string: as in the symbol table; = name where not mangled */
	uint32_t module;      /* id, or PROFILE_NONE */
	uint32_t file;	      /* string: source file, "" = unknown */
	uint32_t start_line;  /* 0 = unknown */
	uint8_t kind;	      /* enum function_kind */
};

struct profile_location {
	uint32_t function;
	uint32_t line; /* 0 = unknown */
	bool inlined;  /* inlined into the location before it */
};

/*
 * How the numbers were obtained and what is missing from them. All counters count samples unless
 * they say otherwise.
 */
struct profile_stats {
	/* taken and kept, without events that are counted exactly (column_info) */
	uint64_t nr_samples;
	uint64_t nr_lost;		    /* taken, but dropped for lack of space */
	uint64_t nr_incomplete[NR_MARKERS]; /* walks that ended in that marker */
	uint64_t nr_snapshots;		    /* unwound afterwards, from a stack snapshot */
	uint64_t nr_throttled;		    /* times the kernel throttled the sampling event */
	uint64_t nr_rows;		    /* unwind rows loaded */
	uint64_t nr_limits; /* times a table limit (rows, maps, processes) was hit */
};

struct profile_meta {
	uint32_t hostname, kernel, command, source, event, version; /* strings */
	uint32_t boot; /* string: the kernel's id of the boot; "": unknown */
	uint32_t freq_hz;
	uint32_t nr_cpus;
	uint64_t start_realtime_ns; /* Unix time */
	uint64_t start_ns, end_ns;  /* CLOCK_MONOTONIC, as sample times */
	bool unfinished;	    /* the recording is unfinished: it has only what was flushed */
	bool is_cut;		    /* the reader left out what is not in the wanted time */
	/* Frames of files with a build-id are named beside the recording. */
	bool names_beside;
	/* enum profile_column + 1: what the file asks to be shown first; 0 = nothing */
	uint8_t first_column;
	/* Weights of samples differ, so the number of samples says little. */
	bool weighted;
};

/* What filters removed from the profile since it was read, by column. Not on disk. */
struct profile_filtered {
	uint64_t weight[NR_COLUMNS];
	uint64_t nr_samples[NR_COLUMNS];
};

enum profile_live_kind {
	LIVE_AT_END = 0, /* of the recording, or of the process */
	LIVE_AT,
	LIVE_AT_PEAK,
	LIVE_LEAKS, /* allocated from from_ns until to_ns, and not freed */
};

/* What the columns of live memory show: see output/select/live_choice.h. Not on disk. */
struct profile_live {
	enum profile_live_kind kind;
	uint64_t from_ns, to_ns;	   /* LIVE_AT: the moment is to_ns */
	uint64_t peak_ns[NR_MEMORY_KINDS]; /* LIVE_AT_PEAK: when each kind had its peak */
};

/*
 * The recordings of a folder whose sums (facts with a key) were added up: a sum is about the whole
 * time of its recording, so it counts whole or not at all. Not on disk.
 */
struct profile_sums {
	uint32_t nr;	    /* recordings that have such sums and were in the wanted time */
	uint32_t nr_partly; /* of them, those that were in it only partly */
};

struct column_info;
struct facts;
struct profile_index; /* the hash tables for interning; in profile.c */

struct profile {
	struct profile_meta meta;
	struct profile_stats stats;
	struct profile_filtered filtered;
	struct profile_filtered idle; /* waits of idle threads, removed too; not in `filtered` */
	uint64_t nr_idle_threads;     /* threads that had such a wait */
	char **strings;		      /* [0] is ""; NUL-terminated, owned by the profile */
	struct profile_module *modules;
	struct profile_thread *threads;
	struct profile_frame *frames;
	struct profile_stack *stacks;
	uint32_t *stack_frames; /* frame ids; PROFILE_NONE ends each stack */
	struct profile_sample *samples;
	struct profile_function *functions;
	struct profile_location *locations;
	size_t nr_strings, nr_modules, nr_threads, nr_frames, nr_stacks, nr_stack_frames;
	size_t nr_samples, nr_functions, nr_locations;
	struct profile_index *index;
	struct facts *facts; /* core/profile/facts.h; NULL where there are none */
	struct profile_live live;
	/* Of several hosts: profile_thread.host names those after the first. See hosts.h. */
	bool has_hosts;
	uint32_t first_host; /* string; PROFILE_NONE: the profile is not one of several hosts */
	bool samples_memory; /* there is a FACT_MEMORY_SAMPLED: column_info_of() */
	/* There is a FACT_TENSOR_MEMORY, and one says that not every block was recorded. */
	bool has_tensors, samples_tensors;
	/* of COLUMN_EVENT_1 and on, if FACT_EVENT has their names: column_info_of(); or NULL */
	struct column_info *event_columns;
	uint64_t nr_facts_left_out; /* rows of a recording without room */
	struct profile_sums sums;
	/*
	 * All stacks together have at most so many frames, because ids have 32 bits; tests set
	 * less. Further stacks are left out: one stack with a marker stands for all of them.
	 */
	size_t stack_frames_max;
	uint64_t nr_stacks_left_out;
	uint32_t stack_left_out; /* that one stack; PROFILE_NONE: not needed so far */
};

struct profile *profile_new(void);
void profile_free(struct profile *p);

/*
 * Interning: equal content gives an equal id. Tables move when they grow, so keep ids across calls,
 * not pointers. Arguments are copied.
 */
uint32_t profile_string(struct profile *p, const char *s, size_t length);
uint32_t profile_cstring(struct profile *p, const char *s);
uint32_t profile_module(struct profile *p, const struct profile_module *module);
uint32_t profile_thread(struct profile *p, uint32_t pid, uint32_t tid, uint32_t comm);
/* The same with all of its fields: a thread of any host. */
uint32_t profile_thread_of_host(struct profile *p, const struct profile_thread *thread);
uint32_t profile_frame(struct profile *p, uint32_t module, uint64_t address);
/* `frames` root first; an empty stack is legal. See stack_frames_max. */
uint32_t profile_stack(struct profile *p, const uint32_t *frames, size_t nr);
/*
 * profile_frame() and profile_stack() for up to PROFILE_BATCH entries, in order: the same ids in
 * less time, because memory is fetched for all of them at once. Only module and address of keys[]
 * are used. Stack i is frames[ends[i - 1]] up to frames[ends[i]]; the first begins at 0.
 */
#define PROFILE_BATCH 16
void profile_frame_batch(struct profile *p, const struct profile_frame *keys, size_t nr,
			 uint32_t *ret_ids);
void profile_stack_batch(struct profile *p, const uint32_t *frames, const size_t *ends, size_t nr,
			 uint32_t *ret_ids);
/* Adds the stack without a search for an equal one: for inputs that seldom repeat a stack. */
uint32_t profile_new_stack(struct profile *p, const uint32_t *frames, size_t nr);
uint32_t profile_function(struct profile *p, const struct profile_function *function);

/*
 * Shorthands of profile_module() and profile_frame() for the two kinds that need no file. A named
 * frame comes with its location: a function of that name and kind, in no module.
 */
uint32_t profile_marker_frame(struct profile *p, enum marker marker);
uint32_t profile_named_frame(struct profile *p, const char *name, size_t length,
			     enum function_kind kind);
/* The same by the id of the name, without a look at its text, which a hostile file makes long. */
uint32_t profile_frame_of_name(struct profile *p, uint32_t name, enum function_kind kind);

/*
 * The frame of a Python code object at a line (0 = unknown), with its location. The function is
 * called "name (file.py:first line)", so that two functions of one name stay apart; its system name
 * is the bare name. Of a name or a path of more than 4 kB only the first 4 kB are shown.
 */
uint32_t profile_python_frame(struct profile *p, uint32_t module, uint64_t line);

void profile_add_sample(struct profile *p, const struct profile_sample *sample);

/* Sets the locations of a frame, outermost first, in place of those it had. */
void profile_set_locations(struct profile *p, uint32_t frame,
			   const struct profile_location *locations, size_t nr);

/*
 * Adds a frame with `nr` of the locations of another frame, from `first` on, to show a part of what
 * was inlined at an address. It is not interned, so it equals no other frame.
 */
uint32_t profile_part_frame(struct profile *p, uint32_t frame, uint32_t first, uint32_t nr);

/*
 * Returns what to print for a frame without locations, such as "libc.so.6+0x1234" or "[unknown]";
 * may use buf.
 */
const char *profile_frame_fallback_name(const struct profile *p, uint32_t frame, char *buf,
					size_t size);

static inline const char *profile_str(const struct profile *p, uint32_t id)
{
	return p->strings[id];
}

#endif
