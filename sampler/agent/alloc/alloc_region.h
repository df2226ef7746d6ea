/*
 * What the recorder and the allocation hooks inside a target share. In the target lie, near the
 * allocator's code:
 *
 *	code	ALLOC_CODE_SIZE		the payload with its call frame information, then that of
 *					the stubs, then a stub for each hooked function
 *	private	struct alloc_private	counters and filter; zeros in a forked child
 *
 * and anywhere else struct alloc_shared (a memfd that the recorder maps too), the walk_space and
 * the arena of core/portable/walk_tables.h. Code and private memory are inherited by fork(2),
 * because the hooked functions of a child jump there; the rest is not.
 *
 * A hooked function subtracts the size from the counter of its thread and goes on; only when the
 * counter falls below zero, or when a block that is freed may be a sampled one, it enters the slow
 * path (slow_path.c). The table of sampled blocks that are not freed yet is the live profile. When
 * such a block is freed, a short record says so; if it is lost, the table still tells. The table
 * and the ring outlive the target, however that ends. The recorder trusts nothing in them.
 */
#ifndef SPROF_ALLOC_REGION_H
#define SPROF_ALLOC_REGION_H

#include <linux/types.h>

#include "core/portable/described_code.h"
#include "core/portable/ring.h"
#include "sampler/agent/region.h"

#define ALLOC_MAGIC DESCRIBED_CODE_MAGIC

#define ALLOC_CODE_SIZE 65536u
#define ALLOC_STUBS_AT 32768u /* stubs begin here, behind the payload */
#define ALLOC_NR_STUBS 128u
#define ALLOC_FRAME_SIZE 64u /* of the call frame information of a stub */
#define ALLOC_NR_COUNTERS 1024u
/*
 * The counter of a thread: the low half of its thread pointer times the hash, of which the upper
 * bits count. Stacks lie 8 MiB apart, so the upper bits of a product of 64 bits would be alike.
 */
#define ALLOC_COUNTER_HASH 0x9e3779b1u
#define ALLOC_COUNTER_SHIFT 22 /* 32 - log2(ALLOC_NR_COUNTERS) */
/*
 * The filter: a bit for each 16 bytes of address modulo 8 MiB, in words of 32. Neighbouring blocks
 * share a cache line of it, and few blocks that are freed find the bit of another one.
 */
#define ALLOC_NR_FILTER 524288u
#define ALLOC_FILTER_WORD_SHIFT 9 /* from an address to its word */
#define ALLOC_NR_LIVE 262144u	  /* power of two */
#define ALLOC_NR_PROBES 32u
#define ALLOC_NR_SCRATCH 8u
#define ALLOC_NR_PATHS 64u
#define ALLOC_RING_WORDS (1u << 18) /* 2 MiB */
#define ALLOC_NR_DEVICES 32u

/* The ways into the payload, in the order of the header's offsets. */
enum alloc_entry {
	ALLOC_MALLOC,	     /* (size) */
	ALLOC_CALLOC,	     /* (number, size) */
	ALLOC_REALLOC,	     /* (block, size) */
	ALLOC_ALIGNED,	     /* (alignment, size) */
	ALLOC_POSIX_ALIGNED, /* (&block, alignment, size) */
	ALLOC_FREE,	     /* (block) */
	ALLOC_NEW,	     /* (size), throws */
	ALLOC_NEW_ALIGNED,   /* (size, alignment), throws */
	/* Of Python's tables of allocators, whose functions have a context first. */
	ALLOC_PYTHON_MALLOC,  /* (context, size) */
	ALLOC_PYTHON_CALLOC,  /* (context, number, size) */
	ALLOC_PYTHON_REALLOC, /* (context, block, size) */
	ALLOC_PYTHON_FREE,    /* (context, block) */
	/* What PyTorch's allocators call for each block; sizes are negative where it is freed. */
	ALLOC_TENSOR,	    /* (block, size, allocated, reserved, device) */
	ALLOC_TENSOR_SHORT, /* (block, size, device): before 1.11 */
	NR_ALLOC_ENTRIES
};

static inline int alloc_entry_is_tensor(__u32 entry)
{
	return entry == ALLOC_TENSOR || entry == ALLOC_TENSOR_SHORT;
}

/*
 * Of Python's malloc, calloc and realloc: what their stubs hand to the slow path is the largest
 * size that they count, and this bit: a block that is sampled is to come from malloc(3) (see
 * slow_python.c).
 */
#define ALLOC_PYTHON_BY_MALLOC (1ull << 63)

/* At the start of the payload. */
struct alloc_payload {
	struct described_code head;
	__u32 entries[NR_ALLOC_ENTRIES];
};
_Static_assert(sizeof(struct alloc_payload) == 72, "no holes");

/*
 * Of the threads whose pointers have the same hash; usually one thread. `left` is what the stubs
 * count down.
 */
struct alloc_counter {
	__s64 left;
	__u64 random;		 /* state of the generator; 0: not seeded yet */
	__u64 interval;		 /* mean of the draw that is counted down; 0: nothing was drawn */
	__u64 thread, low, high; /* stack of that thread that is known to be readable */
	__u64 nr_samples;
	__u64 since; /* the last number of a draw when an allocation was chosen */
};
_Static_assert(sizeof(struct alloc_counter) == 64, "a cache line");

/* Wiped in a forked child, which finds the magic missing and switches itself off. */
struct alloc_private {
	__u64 magic;
	__u64 shared, space, arena; /* addresses in the target */
	__u64 nr_inside;	    /* threads in the slow path */
	__u32 busy;		    /* a bit for each scratch in use */
	__u32 known_generation;
	__u64 clock_gettime; /* of the vdso; 0: the kernel is asked */
	__u64 pad;
	struct alloc_counter counters[ALLOC_NR_COUNTERS];
	__u32 filter[ALLOC_NR_FILTER / 32]; /* may a sampled block be there? */
	__u64 known[REGION_NR_KNOWN];
	struct agent_path paths[ALLOC_NR_PATHS];
	struct agent_scratch scratch[ALLOC_NR_SCRATCH];
	union agent_python_scratch pythons[ALLOC_NR_SCRATCH];
};

/* How far the recorder is. Unless hooks are on, what it has mapped is of no use to anybody. */
enum alloc_stage {
	ALLOC_STAGE_MAPPED = 1, /* no hook leads there yet */
	ALLOC_STAGE_ON = 2,
	ALLOC_STAGE_OFF = 3, /* no hook leads there any more, but threads may be inside */
	/* All threads are held, and hooks are being written: those that are on are found there. */
	ALLOC_STAGE_CHANGING = 4,
};

/*
 * A sampled block that was not freed yet; address 0: free, 1: being filled. Of a tensor, the
 * "address" is its key (slow_tensor.c).
 */
struct alloc_live {
	__u64 address, draw;
};

/* What PyTorch's allocators have reported of a device. */
struct alloc_device {
	__u32 device; /* 1 + the two bytes of the c10::Device; 0: not used so far */
	__u32 has_begun;
	__u64 nr_blocks, nr_bytes; /* handed out */
	__u64 before_bytes;	   /* held before the first report */
	__u64 allocated, reserved; /* as the last report says */
	__u64 peak, peak_reserved; /* the most since the recorder has taken them */
};
_Static_assert(sizeof(struct alloc_device) == 64, "a cache line");

struct alloc_shared {
	struct ring ring;
	__u64 heartbeat_ns; /* by the recorder, CLOCK_MONOTONIC */
	__u64 heartbeat_limit_ns;
	__u64 interval;	       /* by the recorder: mean bytes between samples; 0: none are taken */
	__u64 nr_draws;	       /* numbers of draws that were given out */
	__u64 nr_no_scratch;   /* samples without room for a walk */
	__u64 nr_full;	       /* live blocks that found no room in the table */
	__u64 nr_unseen_frees; /* blocks that were handed out again, though no free was seen */
	__u64 nr_silences;     /* times that a thread found the recorder silent */
	__u64 nr_lost_frees;   /* records of frees without room, which ring.nr_dropped counts too */
	__u64 nr_codes;	       /* Python code objects that were given numbers */
	/* Of tensors: by the recorder, as `interval`, but 1 means every block. */
	__u64 tensor_interval;
	__u64 nr_lost_tensors;	/* blocks that are lost; the other counts have them too */
	__u64 nr_other_devices; /* reports of devices beyond the first ALLOC_NR_DEVICES */
	struct alloc_device devices[ALLOC_NR_DEVICES];
	/* By the recorder, for the one that comes after it, should it be killed. */
	__u64 owner;	 /* differs between recorders */
	__u64 code;	 /* where the code is in the target, or is about to be mapped */
	__u64 stage;	 /* enum alloc_stage */
	__u64 sample_ns; /* what taking samples has taken, and how many of them */
	__u64 nr_timed;
	__u64 pad[214];
	struct code_slot codes[CODE_SLOTS];  /* Python code objects that were sent */
	__u8 filter_counts[ALLOC_NR_FILTER]; /* of sampled blocks behind each bit (live_table.c) */
	struct alloc_live live[ALLOC_NR_LIVE];
	__u64 words[ALLOC_RING_WORDS];
};
_Static_assert(sizeof(struct alloc_shared) % 4096 == 0, "mapped by itself");

enum alloc_record {
	ALLOC_DRAW = 1,
	ALLOC_CODE = 2, /* a struct code_record and its line table, padded to whole words */
	ALLOC_DRAW_OF_TENSOR = 3, /* as ALLOC_DRAW; `site` is the two bytes of the c10::Device */
};

/*
 * A record of the ring, behind its header word. Of a draw nr_frames frames follow, leaf first; of
 * an ALLOC_CODE only the type counts.
 */
struct alloc_draw {
	__u64 number; /* from 1 on */
	__u64 address, size;
	__u64 interval; /* mean of the draw that chose this allocation */
	__u64 time_ns;
	__s32 tid;
	__u32 site;		   /* the hooked function, as the recorder numbers them */
	__u32 nr_frames, nr_total; /* as in struct agent_sample */
	__u32 end;		   /* enum walk_end */
	__u16 type;		   /* enum alloc_record */
	__u8 python_broken;	   /* some Python frames could not be read */
	__u8 pad;
};
_Static_assert(sizeof(struct alloc_draw) == 64, "whole words");

/* The other record of the ring, which is told by its length: the block of a draw was freed. */
struct alloc_freed {
	__u64 number; /* of the draw */
	__u64 time_ns;
};
_Static_assert(sizeof(struct alloc_freed) == 16, "whole words");

#endif
