/* The processes, mappings, files and thread names of a perf.data file, as of the record in hand. */
#ifndef SPROF_PERF_DATA_TARGETS_H
#define SPROF_PERF_DATA_TARGETS_H

#include "core/portable/walk.h"
#include "sampler/walk/snapshot_unwind.h"
#include "sampler/perf_data/data_file.h"
#include "sampler/target/process.h"

struct rule_set;
struct data_code;
struct data_thread;

struct perf_data_tables {
	const struct perf_data_file *file;
	bool keep_files;  /* stacks will be unwound: files stay open, with their rows */
	bool same_kernel; /* the vdso here is the one that was mapped */
	struct process *processes;
	struct data_thread *threads;
	struct data_code *codes;     /* by what identifies them */
	struct data_code **by_index; /* by the index of their code */
	size_t nr_codes, codes_capacity;
	struct rule_set *rules;
	uint64_t nr_limits; /* mappings that were not kept: there are too many files */
	char *kernel_symbol;
	uint64_t kernel_address;
};

void perf_data_tables_init(struct perf_data_tables *t, const struct perf_data_file *file);
void perf_data_tables_fini(struct perf_data_tables *t);

/* Takes a record that is no sample; what cannot be read is left out. */
void perf_data_tables_take(struct perf_data_tables *t, const struct perf_data_record *r);

/* NULL: nothing is known of it. */
const struct process *perf_data_process(const struct perf_data_tables *t, uint32_t pid);
/* COMM_SIZE bytes, filled with NUL. */
const char *perf_data_comm(struct perf_data_tables *t, uint32_t tid);

/* For the offline unwinder: struct snapshot_ops. */
bool perf_data_open_module(const struct perf_data_tables *t, uint64_t module,
			   struct snapshot_file *ret);
bool perf_data_find_rule(const struct perf_data_tables *t, uint64_t module, uint64_t vaddr,
			 struct walk_rule *ret);

#endif
