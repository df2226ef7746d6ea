/*
 * What a walk over Python frames needs to know of an interpreter, and what it keeps. The walk itself
 * is in core/portable/pyframes.h.
 */
#ifndef SPROF_PYLAYOUT_H
#define SPROF_PYLAYOUT_H

#ifndef __VMLINUX_H__ /* the BPF program has the types already */
#include <linux/types.h>
#endif

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

/* How a thread's frames hang together, by version. */
enum py_chain {
	PY_CHAIN_NONE = 0,    /* no interpreter here */
	PY_CHAIN_EVAL = 1,    /* 3.8, 3.9 */
	PY_CHAIN_CFRAME1 = 2, /* 3.10 */
	PY_CHAIN_CFRAME = 3,  /* 3.11, 3.12 */
	PY_CHAIN_SHIM = 4,    /* 3.13 and later */
};

/* What a frame says about the instruction it is at. */
enum py_position {
	PY_POSITION_BYTES = 0,	 /* int: byte offset */
	PY_POSITION_UNITS = 1,	 /* int: offset in code units of 2 bytes */
	PY_POSITION_POINTER = 2, /* address of the code unit */
};

/* How the variable is reached that holds a thread's PyThreadState, from 3.15 on. */
enum py_tls {
	PY_TLS_EXEC = 0,    /* tls_offset: from the thread pointer */
	PY_TLS_INITIAL = 1, /* tls_offset: from _PyRuntime to a word that holds that offset */
	PY_TLS_GENERAL = 2, /* from _PyRuntime to a tls_index: module number, offset in its block */
};

/* enum profile_gil (core/profile/profile.h), for those who cannot include that. */
enum py_gil {
	PY_GIL_UNKNOWN = 0,
	PY_GIL_NO_THREAD = 1,
	PY_GIL_HELD = 2,
	PY_GIL_NOT_HELD = 3,
};

/* Where things are in one process's interpreter. The same bytes in every home. */
struct py_layout {
	__u64 runtime;		    /* address of _PyRuntime; 0 = no interpreter */
	__u64 code_type;	    /* address of PyCode_Type */
	__u64 eval_start, eval_end; /* PY_CHAIN_EVAL: the text of _PyEval_EvalFrameDefault */
	__s32 tls_offset; /* not 0: says where the PyThreadState is, and tss_key is unused */
	__u16 tss_key;	  /* in _PyRuntime: the pthread key, initialised flag first */
	__u8 chain;	  /* enum py_chain */
	__u8 position;	  /* enum py_position */
	__u8 stackref;	  /* the code pointer has tag bits */
	__u8 shim_owner;  /* value of the owner byte in a frame that is no function's */
	__u8 entry_flag; /* offset of the byte that is 1 in a run's last frame; 0 = there are shims */
	__u8 string_kind_shift; /* bits before `kind` in a string's state */
	__u16 thread_id, thread_frame, thread_cframe;
	__u16 cframe_frame, cframe_previous; /* the second follows the first */
	__u16 frame_previous, frame_code, frame_position, frame_owner, frame_size;
	__u16 code_filename, code_name, code_firstline, code_linetable, code_first, code_size;
	__u16 code_version; /* a number that no other code object has had; 0 = there is none */
	__u16 object_type;
	__u16 string_header; /* of a str: length, hash, state, 8 bytes each */
	__u16 string_ascii, string_compact;
	__u16 bytes_size, bytes_data;
	__u8 minor;	    /* of CPython 3.minor */
	__u8 free_threaded; /* the build has no GIL */
	/*
	 * The GIL: its last holder, and 8 bytes further an int that is 1 while it is held. In what
	 * interp_gil of the thread's interpreter points to; 0: in _PyRuntime.
	 */
	__u16 gil_holder; /* 0 = not known, or there is none */
	__u16 thread_interp, interp_gil;
	/* Free-threaded from 3.14 on: a thread runs a copy of the bytecode. 0 = there is one only. */
	__u16 frame_copy;  /* in a frame: the number of the copy, an int; 0 is the code's own */
	__u16 code_copies; /* in a code object: pointer to their count, 8 bytes, and addresses */
	__u16 tls;	   /* enum py_tls: what tls_offset means */
	/*
	 * What tells that a code object is the one that was at its address before, without a look at it.
	 * In the interpreter: the number that the next code object gets; 0 = not known where, or there
	 * is none. Of a frame's function (3.11): a number that no other function's code has had.
	 */
	__u16 interp_versions;
	__u16 frame_function, function_version;
	__u16 unused;
};
_Static_assert(sizeof(struct py_layout) == 112, "no holes");

#define PY_WORDS 32u /* the largest object read at once, in words */
#define PY_MAX_RUN 8192

/* A walk over a thread's Python frames. One word buffer serves all reads. */
struct py_walk {
	__u64 thread;	      /* PyThreadState, 0 = none */
	__u64 interp;	      /* its interpreter, where the layout says where that is */
	__u64 frame;	      /* the next one, 0 = none is left */
	__u64 cframe;	      /* of the run that begins at `frame` */
	__u64 boundary;	      /* of that run; 0 = unknown */
	__u64 scan;	      /* where the search for a run's end is */
	__u64 code, position; /* of the frame in hand: the code object, and the byte offset in it */
	__u32 broken;	      /* the chain ended in something that is no frame */
	__u32 pad;
	__u64 words[PY_WORDS];	/* the frame in hand */
	__u64 object[PY_WORDS]; /* its code object */
	__u64 strings[8];	/* the header of a string of its, and the end of it */
};

#define PY_RUN_WORDS 512u /* frames of a run that are read only once */

/* A walk run by run (core/portable/pyruns.h): the run in hand, before the native walk meets where it was. */
struct py_runs {
	struct py_walk walk;	     /* .frame is the first after the run */
	__u64 eval_start, eval_size; /* the text of the eval loop, where that tells a run */
	__u64 rest;		     /* the frame from which on the run did not fit */
	__u64 file, file_print;	     /* the file name that was looked at last */
	__u32 cut;		     /* frames are missing where the chain had just been cut */
	__u32 scans;		     /* only the run's end is looked for */
	__u32 lost;		     /* a code object could not be sent */
	__u32 nr;		     /* frames of the run in hand; 0 = there is none */
	__u32 gil;		     /* enum py_gil, for those who ask py_gil() */
	__u32 pad;
	__u64 words[PY_RUN_WORDS]; /* they */
};

/* Is the native frame at pc, whose piece of the stack is [sp, cfa), the run in hand? */
static __always_inline int py_run_is_at(const struct py_runs *r, __u64 pc, __u64 sp, __u64 cfa)
{
	if (!r->nr)
		return 0;
	if (r->walk.boundary)
		return r->walk.boundary - sp < cfa - sp;
	return pc - r->eval_start < r->eval_size;
}

#endif
