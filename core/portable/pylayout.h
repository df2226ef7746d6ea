/*
 * What a walk over Python frames must know of an interpreter, and the state that the walk keeps.
 * pyframes.h and pyruns.h have the walk itself.
 */
#ifndef SPROF_PYLAYOUT_H
#define SPROF_PYLAYOUT_H

#ifndef __VMLINUX_H__ /* the BPF program has the types already */
#include <linux/types.h>
#endif

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

/* How the frames of a thread are linked, by version. */
enum py_chain {
	PY_CHAIN_NONE = 0,    /* no interpreter */
	PY_CHAIN_EVAL = 1,    /* 3.8, 3.9 */
	PY_CHAIN_CFRAME1 = 2, /* 3.10 */
	PY_CHAIN_CFRAME = 3,  /* 3.11, 3.12 */
	PY_CHAIN_SHIM = 4,    /* 3.13 and later */
};

/* How a frame stores the instruction that it is at. */
enum py_position {
	PY_POSITION_BYTES = 0,	 /* int: byte offset */
	PY_POSITION_UNITS = 1,	 /* int: offset in code units of 2 bytes */
	PY_POSITION_POINTER = 2, /* address of the code unit */
};

/* How to find the variable with a thread's PyThreadState, from 3.15 on. */
enum py_tls {
	PY_TLS_EXEC = 0,    /* tls_offset: from the thread pointer */
	PY_TLS_INITIAL = 1, /* tls_offset: from _PyRuntime to a word that holds that offset */
	PY_TLS_GENERAL = 2, /* from _PyRuntime to a tls_index: module number, offset in its block */
};

/* The values of enum profile_gil (core/profile/profile.h), for programs that cannot include it. */
enum py_gil {
	PY_GIL_UNKNOWN = 0,
	PY_GIL_NO_THREAD = 1,
	PY_GIL_HELD = 2,
	PY_GIL_NOT_HELD = 3,
};

/* Addresses and offsets in the interpreter of one process. All walkers read these bytes. */
struct py_layout {
	__u64 runtime;		    /* address of _PyRuntime; 0 = no interpreter */
	__u64 code_type;	    /* address of PyCode_Type */
	__u64 eval_start, eval_end; /* PY_CHAIN_EVAL: the text of _PyEval_EvalFrameDefault */
	__s32 tls_offset;	    /* not 0: leads to the PyThreadState, instead of tss_key */
	__u16 tss_key;	 /* in _PyRuntime: the pthread key, preceded by its "initialised" flag */
	__u8 chain;	 /* enum py_chain */
	__u8 position;	 /* enum py_position */
	__u8 stackref;	 /* the code pointer has tag bits */
	__u8 shim_owner; /* the owner byte of a shim: a frame that belongs to no function */
	/* offset of the byte that is 1 in a run's last frame; 0 = there are shims */
	__u8 entry_flag;
	__u8 string_kind_shift; /* bits before `kind` in a string's state */
	__u16 thread_id, thread_frame, thread_cframe;
	__u16 cframe_frame, cframe_previous; /* the second follows the first */
	__u16 frame_previous, frame_code, frame_position, frame_owner, frame_size;
	__u16 code_filename, code_name, code_firstline, code_linetable, code_first, code_size;
	__u16 code_version; /* a number that no other code object has ever had; 0 = there is none */
	__u16 object_type;
	__u16 string_header; /* of a str: length, hash, state, 8 bytes each */
	__u16 string_ascii, string_compact;
	__u16 bytes_size, bytes_data;
	__u8 minor;	    /* of CPython 3.minor */
	__u8 free_threaded; /* the build has no GIL */
	/*
	 * The GIL: its last holder, and 8 bytes further an int that is 1 while it is held. Both are
	 * in what interp_gil of the thread's interpreter points to, or in _PyRuntime if interp_gil
	 * is 0.
	 */
	__u16 gil_holder; /* 0 = not known, or there is none */
	__u16 thread_interp, interp_gil;
	/*
	 * In free-threaded builds from 3.14 on, threads run copies of the bytecode. 0 = no copies.
	 */
	__u16 frame_copy; /* in a frame: the number of the copy, an int; 0 is the original */
	/* in a code object: pointer to the count of copies, 8 bytes, and their addresses */
	__u16 code_copies;
	__u16 tls; /* enum py_tls: what tls_offset means */
	/*
	 * These tell, without reading a code object, that it is the one that was at its address
	 * before. interp_versions is in the interpreter: the number of the next code object; 0 =
	 * not known. The others lead through the function of a frame (3.11) to a number that is
	 * unique to its code.
	 */
	__u16 interp_versions;
	__u16 frame_function, function_version;
	__u16 generation; /* of what the ebpf source knows: changes when that is forgotten */
};
_Static_assert(sizeof(struct py_layout) == 112, "no holes");

#define PY_WORDS 32u /* the largest object read at once, in words */
#define PY_MAX_RUN 8192

/* A walk over a thread's Python frames. One word buffer serves all reads. */
struct py_walk {
	__u64 thread;	      /* PyThreadState, 0 = none */
	__u64 interp;	      /* its interpreter, if the layout can find it */
	__u64 frame;	      /* the next frame, 0 = none is left */
	__u64 cframe;	      /* of the run that begins at `frame` */
	__u64 boundary;	      /* of that run; 0 = unknown */
	__u64 scan;	      /* where the search for a run's end is */
	__u64 code, position; /* of the current frame: its code object, and the byte offset in it */
	__u32 broken;	      /* the chain of frames ended in something that is not a frame */
	__u32 pad;
	__u64 words[PY_WORDS];	/* the current frame */
	__u64 object[PY_WORDS]; /* its code object */
	__u64 strings[8];	/* the header of one of its strings, and the end of that string */
};

#define PY_RUN_WORDS 512u /* frames that are kept of a run; the rest is read again later */

/*
 * A walk run by run (pyruns.h). The current run is read before the native walk reaches the call
 * that executes it.
 */
struct py_runs {
	struct py_walk walk; /* .frame is the first after the run */
	/* text of the eval loop, if a pc in it identifies a run */
	__u64 eval_start, eval_size;
	__u64 rest;		   /* the first frame that did not fit */
	__u64 file, file_print;	   /* the last file name that was hashed, and its hash */
	__u32 cut;		   /* the chain was cut while it was read: frames are missing */
	__u32 scans;		   /* only searches for the end of the run */
	__u32 lost;		   /* a code object could not be sent */
	__u32 nr;		   /* frames of the current run; 0 = there is none */
	__u32 gil;		   /* enum py_gil; set by walkers that call py_gil() */
	__u32 spent;		   /* the sample's budget is spent: nothing more is read */
	__u64 words[PY_RUN_WORDS]; /* the frames of the current run */
};

/* Does the native frame at pc, which occupies [sp, cfa) of the stack, execute the current run? */
static __always_inline int py_run_is_at(const struct py_runs *r, __u64 pc, __u64 sp, __u64 cfa)
{
	if (!r->nr)
		return 0;
	if (r->walk.boundary)
		return r->walk.boundary - sp < cfa - sp;
	return pc - r->eval_start < r->eval_size;
}

#endif
