/*
 * What the BPF program and the recorder share: maps' element types and the records in the ring.
 * Included by both sides, so no host and no kernel headers. Sizes are asserted; times are
 * CLOCK_MONOTONIC ns.
 */
#ifndef SPROF_BPF_EVENTS_H
#define SPROF_BPF_EVENTS_H

#include <linux/types.h>

#include "core/portable/frames.h"
#include "core/portable/pycode.h"

#define STEPS_PER_BATCH 256

/*
 * The arena: unwind pages, runs of rows and process map tables, in 32-bit words. It grows by shards
 * of 1 MiB (kernels before 6.x refuse larger array elements); nothing that is searched crosses a
 * shard.
 */
#define ARENA_SHARD_SHIFT 18
#define ARENA_SHARD_WORDS (1u << ARENA_SHARD_SHIFT)
#define ARENA_SHARD_MASK (ARENA_SHARD_WORDS - 1)
#define ARENA_MAX_SHARDS 128

#define KNOWN_RULE_SETS 1024 /* power of two; return addresses whose rules are at hand */
#define STACK_SLOTS 16384    /* power of two; small enough to stay in a cache */
#define MAX_PYTHONS 1024     /* interpreters at distinct addresses; number 0 is none */

/* An executable mapping. vaddr in the module's unwind table = pc - bias. */
struct map_entry {
	__u64 start, end;
	__u64 bias;
	__u32 module; /* index in the modules map */
	__u32 table;  /* the number of the map table it is in: each that is published has another */
};
_Static_assert(sizeof(struct map_entry) == 32, "8 arena words");
#define MAP_ENTRY_WORDS 8u

/*
 * The rule at a return address, so that a walk that finds its caches cold fetches a line of it, and not
 * those of mappings, pages, rows and rules. Any CPU writes it at any time: the rule counts where
 * check ^ rule is the mark of the address in its map table.
 */
struct known_rule {
	__u64 check, rule; /* struct walk_rule */
};

#define KNOWN_RULE_WAYS 4
struct known_rules {
	struct known_rule ways[KNOWN_RULE_WAYS];
};

struct module_entry {
	__u64 base;  /* vaddr of page 0 */
	__u32 pages; /* arena index of the page words */
	__u32 nr_pages;
	__u32 state; /* enum walk_module_state */
	__u32 pad;
};
_Static_assert(sizeof(struct module_entry) == 24, "no holes");

#define EXEC_ID_ANY 0xffffffffu

struct process_entry {
	__u32 maps;    /* arena index of the first struct map_entry */
	__u32 nr_maps; /* 0: nothing known yet */
	__u32 exec_id; /* low bits of task->self_exec_id this table belongs to, or EXEC_ID_ANY */
	__u32 epoch;   /* of what addresses mean, and of no other process: part of a stack's key */
	__u32 nr_snapshots; /* sent since the table was published */
	__u32 python;	    /* index in the pythons map; 0 = runs no Python */
	__u32 table;	    /* number of its map table; 0: what is found in it is not to be kept */
};
_Static_assert(sizeof(struct process_entry) == 28, "no holes");

/* A process whose table does not explain its stacks stops sending snapshots after this many. */
#define MAX_SNAPSHOTS 1024
/* The same while it has no table: enough for the time it takes to make one. */
#define MAX_FIRST_SNAPSHOTS 256

enum event_type {
	EVENT_SAMPLE = 1,
	EVENT_STACK = 2,
	EVENT_SNAPSHOT = 3,
	EVENT_FORK = 4,
	EVENT_EXEC = 5,
	EVENT_EXIT = 6,
	EVENT_CODE = 7,
	EVENT_PYTHON = 8,
};

struct event_header {
	__u16 type; /* enum event_type */
	__u16 cpu;
	__u32 tgid;
	__u64 time_ns;
};

struct sample_event {
	struct event_header header;
	__u64 key; /* of the stack record that describes it; the stack record comes once */
	__u64 weight_ns;
	__u32 tid;
	__u8 gil; /* enum py_gil */
	__u8 pad[3];
	char comm[COMM_SIZE];
};
_Static_assert(sizeof(struct sample_event) == 56, "no holes");

/* Frames: nr_kernel of the kernel, then the user's, both leaf first. */
struct stack_event {
	struct event_header header;
	__u64 key;
	__u16 nr_kernel;
	__u16 nr_user;	    /* stored */
	__u32 nr_total;	    /* user frames met; > nr_user: the ring part is in use and rotated */
	__u8 end;	    /* enum walk_end */
	__u8 in_kernel;	    /* the sample hit kernel code */
	__u8 python_broken; /* the Python frames end in something that is no frame */
	__u8 pad;
	__u32 epoch; /* of the table that it was walked by */
};
_Static_assert(sizeof(struct stack_event) == 40, "no holes");

/*
 * EVENT_PYTHON is a stack record too, of the Python frames that go with the snapshot that follows it:
 * its user frames are runs, each a word that is the run's boundary (core/portable/pyframes.h; 0: it has none)
 * and the words of its frames.
 */

/* A sample that the recorder unwinds itself: registers, kernel frames, then stack bytes from sp. */
struct snapshot_event {
	struct sample_event sample; /* key unused */
	__u32 exec_id;
	__u16 nr_kernel;
	__u8 end;   /* enum walk_end: why it could not be walked here */
	__u8 exact; /* pc is not a return address (not inside a system call) */
	__u32 stack_size;
	__u32 in_kernel;
	__u64 pc;
	__u64 gpr[16]; /* DWARF order, as struct walk_regs */
	__u64 kernel[MAX_KERNEL_FRAMES];
	__u64 stack_start; /* address of the first byte: sp, or the next page if that one is missing */
};
_Static_assert(sizeof(struct snapshot_event) == 72 + 136 + 1024, "no holes");

#define SNAPSHOT_DEFAULT 16384 /* bytes of stack where nothing tells how many there are */
#define SNAPSHOT_MAX 65536

struct fork_event {
	struct event_header header; /* tgid: the parent's */
	__u32 child;		    /* tgid */
	__u32 exec_id;
};

struct exec_event {
	struct event_header header;
	__u32 exec_id;
	__u32 pad;
};

struct exit_event {
	struct event_header header;
};

/* Sent before the first stack that holds the code object; its line table follows. */
struct code_event {
	struct event_header header;
	struct code_record code;
};
_Static_assert(sizeof(struct code_event) == 16 + sizeof(struct code_record), "no holes");

/* A question to the kernel's symbol table, and its answer. */
struct kernel_name {
	__u64 address;
	char name[256];
};

enum counter {
	COUNTER_LOST = 0,    /* no room in the ring */
	COUNTER_EVENTS_LOST, /* fork, exec or exit not delivered: process tables must be re-read */
	COUNTER_FORKS_DROPPED, /* the process table was full */
	NR_COUNTERS
};

#endif
