/*
 * The recording format, version 1.0. Little-endian. This file is its specification.
 *
 *	file    = struct record_file, chunk...
 *	chunk   = struct record_chunk, one zstd frame (with content checksum)
 *	content = { struct record_head, payload }...
 *
 * A recording has its final name from the beginning and is only ever appended to; the one place
 * written twice is record_file.complete, which comes last of all. So whatever kills the recorder,
 * every chunk that reached the file can be read, and a reader knows that the end is missing. The
 * contents of neighbouring chunks may be joined to one chunk, with `first` of the first of them.
 *
 * Tables. Strings, modules, threads, frames, stacks and functions are numbered from 0 in the order
 * in which they are written; an entry refers to others by number, and only to earlier ones. String
 * 0 is "" and is not written. The same content may be written twice under two numbers, because the
 * recorder forgets stacks when it has seen too many: readers intern by content.
 *
 * Lost chunks. Each chunk says in `first` at which numbers its own entries start. Where a chunk in
 * the middle is unreadable, the numbers it held stay unassigned and later ones keep their meaning:
 * a lost string is "", a lost module or frame is the frame [unknown], a sample of a lost thread has
 * no thread, a sample of a lost stack is counted as lost, a frame that refers to a lost function
 * has no name.
 *
 * Versions. A reader refuses another major version. A higher minor version may bring new record
 * types, chunk kinds, META keys, STATS counters, module fields, sample columns and enum values: a
 * reader skips by size what it does not know. Numbers never get a second meaning.
 *
 * Numbers in payloads are varints (core/base/varint.h) unless stated otherwise; `zz` is zigzag
 * coded, and {} repeats to the end of the record.
 */
#ifndef SPROF_RECORD_H
#define SPROF_RECORD_H

#include <stdint.h>

/* The first byte starts neither UTF-8 text nor gzip; CR LF reveals a transfer in text mode. */
#define RECORD_FILE_MAGIC "\x93SPROF\r\n"
#define RECORD_CHUNK_MAGIC "\x93SCK"

#define RECORD_VERSION_MAJOR 1
#define RECORD_VERSION_MINOR 0

/* Limits that a writer keeps and a reader enforces. */
#define RECORD_MAX_CHUNK (64u << 20) /* bytes of a chunk's content */
#define RECORD_MAX_STRING (1u << 20) /* bytes; longer strings are cut */
#define RECORD_MAX_DEPTH (1u << 16)  /* frames of a stack; longer stacks lose frames at the leaf */
#define RECORD_MAX_IDS (1u << 26)    /* entries of a table */

#define RECORD_COMPLETE 0x4554454c504d4f43ull /* "COMPLETE" */
/*
 * record_file.complete if a write failed: this in the upper 16 bits, then 16 bits of errno, then in
 * 32 bits the number of samples that could not be written, at most UINT32_MAX.
 */
#define RECORD_FAILED 0xfa11ull

struct record_file {
	uint8_t magic[8];
	uint16_t version_major;
	uint16_t version_minor;
	uint32_t header_size;	    /* where the first chunk starts */
	uint64_t start_realtime_ns; /* Unix time */
	uint64_t start_ns;	    /* CLOCK_MONOTONIC at the same moment */
	uint64_t reserved[2];	    /* 0 */
	uint64_t check;		    /* XXH64, seed 0, of the bytes before it */
	uint64_t complete;	    /* 0; RECORD_COMPLETE or RECORD_FAILED, written last */
};
_Static_assert(sizeof(struct record_file) == 64, "on disk");

enum record_chunk_kind {
	RECORD_CHUNK_RECORDS = 1,
};

enum record_chunk_flags {
	RECORD_CHUNK_LAST = 1, /* the recording ends here; without it, the tail was cut off */
};

struct record_first {
	uint32_t string, module, thread, frame, stack, function;
};

struct record_chunk {
	uint8_t magic[4];
	uint16_t kind;
	uint16_t flags;
	uint32_t sequence;    /* 0, 1, 2 ... */
	uint32_t raw_size;    /* bytes of the content */
	uint32_t stored_size; /* bytes of the zstd frame */
	struct record_first first;
	uint32_t reserved;     /* 0 */
	uint64_t first_sample; /* samples in the chunks before this one */
	uint64_t check;	       /* XXH64, seed 0, of the bytes before it */
};
_Static_assert(sizeof(struct record_chunk) == 64, "on disk");

struct record_head {
	uint16_t type;
	uint16_t flags; /* 0 */
	uint32_t size;	/* of the payload */
};
_Static_assert(sizeof(struct record_head) == 8, "on disk");

enum record_type {
	/* { key size, key, value size, value }: text; a later value replaces an earlier one */
	RECORD_META = 1,
	/* { size, bytes }: no NUL */
	RECORD_STRINGS = 2,
	/*
	 * { entry size, entry }; entry = path string, pid, enum module_kind, dev, ino, build-id
	 * size, build-id, and whatever a later version appends. In the place of pid an entry of
	 * MODULE_NAMED has an enum function_kind, and one of MODULE_PYTHON the string number of its
	 * code object's name; in the place of ino MODULE_PYTHON has its first line.
	 */
	RECORD_MODULES = 3,
	/* { pid, tid, comm string } */
	RECORD_THREADS = 4,
	/*
	 * { module, zz address - address of the entry before it in this record }. The address of a
	 * MODULE_NAMED frame is a string number, that of a MODULE_PYTHON frame a line.
	 */
	RECORD_FRAMES = 5,
	/*
	 * { shared, more, frame * more }: root first; the first `shared` frames are those of the
	 * entry before it in this record
	 */
	RECORD_STACKS = 6,
	/*
	 * nr samples, nr columns, byte size * nr columns, the columns: enum record_column, each
	 * one number per sample; columns that are all 0 may be missing from the end
	 */
	RECORD_SAMPLES = 7,
	/* { enum record_stat, value }: since the start; the last one counts */
	RECORD_STATS = 8,
	/* { name string, system name string, module + 1 or 0, file string, start line,
	 *   enum function_kind } */
	RECORD_FUNCTIONS = 9,
	/* { frame, nr, { function, line << 1 | inlined } * nr }: outermost first */
	RECORD_LOCATIONS = 10,
	/*
	 * { enum fact_kind, entry size, entry }: an entry is a row of that table, its fields in the
	 * order of core/profile/facts.h: numbers, strings, thread + 1 or 0, stack + 1 or 0, zz
	 * where signed. Unknown kinds and fields are skipped by size, fields that are missing at
	 * the end are 0; a row replaces an earlier one of the same key.
	 */
	RECORD_FACTS = 11,
};

/*
 * The columns of RECORD_SAMPLES, in this order; a delta is to the sample before in the same record.
 */
enum record_column {
	RECORD_COLUMN_TIME = 0,	  /* zz delta, ns */
	RECORD_COLUMN_THREAD = 1, /* thread + 1, or 0 */
	RECORD_COLUMN_STACK = 2,
	RECORD_COLUMN_CPU = 3,
	RECORD_COLUMN_WEIGHT = 4, /* zz delta */
	RECORD_COLUMN_COLUMN = 5, /* enum profile_column */
	RECORD_COLUMN_GIL = 6,	  /* enum profile_gil */
	RECORD_COLUMN_LABELS = 7, /* string: the sample's labels, see core/profile/labels.h */
	NR_RECORD_COLUMNS
};
#define MIN_RECORD_COLUMNS RECORD_COLUMN_GIL /* these are never missing */

/* The counters of struct profile_stats. */
enum record_stat {
	RECORD_STAT_SAMPLES = 1, /* in all chunks up to and including this one */
	RECORD_STAT_LOST = 2,
	RECORD_STAT_SNAPSHOTS = 3,
	RECORD_STAT_THROTTLED = 4,
	RECORD_STAT_ROWS = 5,
	RECORD_STAT_LIMITS = 6,
	RECORD_STAT_INCOMPLETE = 32, /* + enum marker, up to 63 */
	RECORD_STAT_INCOMPLETE_END = 64,
};

/*
 * META keys: hostname, kernel, command, source, event, version (text); freq_hz, nr_cpus, end_ns
 * (decimal; end_ns, on CLOCK_MONOTONIC, comes with the last chunk). In segments of a folder also
 * boot (the kernel's boot_id) and names ("beside": see core/segments/names_folder.h).
 */

#endif
