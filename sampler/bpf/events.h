/*
 * The wire format between the BPF program and sampler/ebpf: the element types of maps, and the
 * records in the ring. Both sides include it, so it uses neither host nor kernel headers. Times are
 * CLOCK_MONOTONIC ns.
 */
#ifndef SPROF_BPF_EVENTS_H
#define SPROF_BPF_EVENTS_H

#include <linux/types.h>

#include "core/portable/call_times.h"
#include "core/portable/frames.h"
#include "core/portable/pycode.h"

#define STEPS_PER_BATCH 128

/*
 * The arena: unwind pages, runs of rows and process map tables, in 32-bit words. It grows by shards
 * of 1 MiB (kernels before 6.x refuse larger array elements); a run of rows or a map table never
 * crosses the end of a shard.
 */
#define ARENA_SHARD_SHIFT 18
#define ARENA_SHARD_WORDS (1u << ARENA_SHARD_SHIFT)
#define ARENA_SHARD_MASK (ARENA_SHARD_WORDS - 1)
#define ARENA_MAX_SHARDS 128

#define KNOWN_RULE_SETS 1024 /* power of two; of the cache of rules */
#define STACK_SLOTS 16384    /* power of two; small enough to stay in the CPU's cache */
#define MAX_CGROUPS 8	     /* whose processes are sampled */
#define MAX_CPUS 1024	     /* that are looked at to count running threads */
#define MAX_EVENTS 8	     /* sampled beside the clock */
#define GROWTH_EVENT 9	     /* growth of resident memory, which weighs bytes; no other event */
#define MAX_GROWING 16384    /* processes whose growth is followed */
#define MAX_PYTHONS 1024     /* interpreters at distinct addresses; number 0 is none */

/* An executable mapping. vaddr in the module's unwind table = pc - bias. */
struct map_entry {
	__u64 start, end;
	__u64 bias;
	__u32 module; /* index in the modules map */
	__u32 table;  /* of its map table; each published table has another */
};
_Static_assert(sizeof(struct map_entry) == 32, "8 arena words");
#define MAP_ENTRY_WORDS 8u

/*
 * The rule at a return address. A walk that finds the CPU's caches cold then fetches one cache
 * line, not one each of mappings, pages, rows and rules. Any CPU writes an entry at any time
 * without a lock, so an entry is valid only if check ^ rule is the mark of the address in its map
 * table.
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
/* A program that sprof starts: until its exec the process runs sprof's code, and is no target. */
#define EXEC_ID_NOT_YET 0xfffffffeu

struct process_entry {
	__u32 maps;	    /* arena index of the first struct map_entry */
	__u32 nr_maps;	    /* 0: nothing known yet */
	__u32 exec_id;	    /* low bits of task->self_exec_id of its image, or EXEC_ID_... */
	__u32 epoch;	    /* changes when addresses change their meaning; part of a stack's key */
	__u32 nr_snapshots; /* sent since the table was published */
	__u32 python;	    /* index in the pythons map; 0: runs no Python */
	__u32 table;	    /* number of its map table; 0: do not cache the rules found by it */
};
_Static_assert(sizeof(struct process_entry) == 28, "no holes");

/* At most so many snapshots of a process are sent after its map table was published. */
#define MAX_SNAPSHOTS 1024
/* The same while it has no table yet, while the recorder does not keep up. */
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
	EVENT_WAIT = 9,
	EVENT_THREAD = 10,
	EVENT_CALL = 11,
};

/* How a thread left its CPU; part of the key of a wait's stack. */
enum wait_state {
	WAIT_NONE = 0, /* a sample of a running thread */
	WAIT_SLEEP = 1,
	WAIT_UNINTERRUPTIBLE = 2,
	WAIT_IO = 3,	    /* the kernel counts it as waiting for a disk */
	WAIT_PREEMPTED = 4, /* it could have gone on */
	WAIT_NEW = 5,	    /* a new thread that has not run yet */
	WAIT_STOPPED = 6,   /* by a signal or a debugger */
	WAIT_THROTTLED = 7, /* its cgroup has used its share of the CPUs */
	NR_WAIT_STATES,
	WAKER_STACK = 64, /* not a wait: the stack of a thread that woke another */
	CALL_STACK = 65,  /* not a wait: the stack of a system call that took long */
};

#define MAX_WAIT_PERIOD_NS 1000000000u /* of the samples of waits */

struct event_header {
	__u16 type; /* enum event_type */
	__u16 cpu;
	__u32 tgid;
	__u64 time_ns;
};

struct sample_event {
	struct event_header header;
	__u64 key; /* of the stack record with its frames, which is sent once for all samples */
	__u64 weight_ns;
	__u32 tid;
	__u8 gil;   /* enum py_gil */
	__u8 event; /* of a sample of a running thread: 0 the clock, else number + 1 of the event */
	__u16 running; /* of a tick of the clock: threads of targets on CPUs; 0: not asked for */
	char comm[COMM_SIZE];
};
_Static_assert(sizeof(struct sample_event) == 56, "no holes");

/*
 * The frames follow, leaf first: nr_kernel of the kernel, then nr_user of the user, then nr_joined
 * return addresses of the root end, between which and the others frames are missing.
 */
struct stack_event {
	struct event_header header;
	__u64 key;
	__u16 nr_kernel;
	__u16 nr_user;	    /* user frames stored */
	__u32 nr_total;	    /* user frames met; > nr_user: the root part is a rotated ring */
	__u8 end;	    /* enum walk_end */
	__u8 in_kernel;	    /* the sample hit kernel code */
	__u8 python_broken; /* not all Python frames could be read */
	__u8 nr_joined;	    /* 0 or MAX_JOINED_FRAMES */
	__u32 epoch;	    /* of the process_entry by which it was walked */
	__u32 wait;	    /* enum wait_state */
	__u32 call;	    /* the number of the system call, with CALL_STACK */
};
_Static_assert(sizeof(struct stack_event) == 48, "no holes");

#define WAIT_NAME_SIZE 40

/* What a thread waited for, as far as the system call and its arguments tell, and who woke it. */
struct wait_facts {
	__u64 off_ns;	 /* how long the wait took, whatever its sample weighs */
	__u64 lock;	 /* address of the futex; 0: none */
	__u64 waker_key; /* of the waker's stack record; 0: not known, or not asked for */
	__u64 woken_ns;	 /* when the wait was ended; 0: the same */
	__u32 waker_tgid, waker_tid;
	char waker_comm[COMM_SIZE];
	__u32 holder;	 /* of the lock, a tid of the process's PID namespace; 0: not known */
	__u32 nr_polled; /* descriptors that poll watched, of which the first is described */
	__u32 device;	 /* the kernel's number: of the file's file system, or of a block device */
	__u32 peer_pid;	 /* of a local socket */
	__u16 file_mode; /* st_mode of the file; 0: there is none */
	__u16 family;	 /* of a socket */
	__u16 port;	 /* of its peer, or its own if it listens */
	__u8 is_epoll;	 /* the file is the first of an epoll set */
	__u8 listens;
	__u8 address[16];	   /* of its peer */
	char name[WAIT_NAME_SIZE]; /* of the file, or the path of a local socket */
};
_Static_assert(sizeof(struct wait_facts) == 136, "no holes");

/* A wait that was drawn. Its weight includes the part in which the thread waited for a CPU. */
struct wait_event {
	struct sample_event sample;
	__u64 runnable_ns; /* that part */
	struct wait_facts facts;
};
_Static_assert(sizeof(struct wait_event) == 200, "no holes");

/*
 * How a thread spent its time while it was watched, exactly: cpu + runnable + waiting = wall. Sent
 * when the thread ends or the recording does; told of all threads when a segment ends.
 */
struct thread_event {
	struct event_header header;
	__u64 start_ns; /* since when it was watched */
	__u64 wall_ns, cpu_ns, runnable_ns, waiting_ns;
	__u64 nr_waits;
	__u32 tid;
	__u32 goes_on; /* it has not ended: this is what it did so far */
	char comm[COMM_SIZE];
};
_Static_assert(sizeof(struct thread_event) == 88, "no holes");

/*
 * Stands for all higher numbers: no kernel has them, as Linux 6.18 ends at 470 and adds a few a
 * year. A program can ask for any, and so fill a table of calls, or ask for new ones faster than
 * the kernel hands memory for their sums to a BPF program.
 */
#define NO_SYSTEM_CALL 511

/*
 * EVENT_CALL is a sample record: a system call that took its weight.
 *
 * What a CPU has added up of the calls of one number since the start. The histogram tells how many
 * they were; its numbers wrap around. max_ns is that of the last segment in which there was a call.
 */
struct call_sums {
	__u64 errors, total_ns, max_ns;
	__u32 segment, pad;
	__u32 times[CALL_BUCKETS];
};
_Static_assert(sizeof(struct call_sums) % 8 == 0, "as the kernel rounds it for each CPU");

/*
 * EVENT_PYTHON is a stack record too. It holds the Python frames that belong to the snapshot sent
 * after it: its user frames are runs, each a word that is the run's boundary
 * (core/portable/pyframes.h; 0: it has none) and the words of its frames.
 */

/*
 * A sample that the recorder unwinds: registers and kernel frames; stack_size bytes of stack
 * follow.
 */
struct snapshot_event {
	struct sample_event sample; /* key: of a wait, its runnable_ns; else unused */
	__u32 exec_id;
	__u16 nr_kernel;
	__u8 end;   /* enum walk_end: why it was not walked here */
	__u8 exact; /* pc is not a return address (not inside a system call) */
	__u32 stack_size;
	__u16 in_kernel;
	__u16 wait; /* enum wait_state */
	__u64 pc;
	__u64 gpr[16]; /* DWARF order, as struct walk_regs */
	__u64 kernel[MAX_KERNEL_FRAMES];
	__u64 stack_start;	 /* address of the first byte: sp, or the next page boundary */
	struct wait_facts facts; /* of a wait; else undefined */
	/*
	 * Of a wait that goes on when the recording ends, whose Python frames are not read here;
	 * else 0. `switches`: how often the thread has been switched from.
	 */
	__u64 thread_pointer, switches;
};
_Static_assert(sizeof(struct snapshot_event) == 72 + 136 + 1024 + 136 + 16, "no holes");

#define SNAPSHOT_DEFAULT 16384 /* bytes copied of a stack whose end is unknown */
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

/* A code object, sent before the first stack that holds it; its line table follows. */
struct code_event {
	struct event_header header;
	struct code_record code;
};
_Static_assert(sizeof(struct code_event) == 16 + sizeof(struct code_record), "no holes");

/* The recorder asks for the name of a kernel address; the program fills it in. */
struct kernel_name {
	__u64 address;
	char name[256];
};

enum counter {
	COUNTER_LOST = 0,      /* no room in the ring */
	COUNTER_EVENTS_LOST,   /* fork, exec or exit not delivered: the recorder must resync */
	COUNTER_FORKS_DROPPED, /* the process table was full */
	COUNTER_UNREADABLE,    /* programs that the caller may not look at */
	COUNTER_NOT_COPIED,    /* stacks that were not copied because too many are in a second */
	NR_COUNTERS
};

#endif
