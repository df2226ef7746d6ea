/*
 * The processes, mappings, mapped files and thread names of a perf.data file, as of the record that
 * is being handled.
 */
#ifndef SPROF_PERF_DATA_TARGETS_H
#define SPROF_PERF_DATA_TARGETS_H

#include "core/portable/walk.h"
#include "sampler/walk/snapshot_unwind.h"
#include "sampler/perf_data/data_file.h"
#include "sampler/target/process.h"

struct rule_set;
struct data_file;
struct data_thread;

struct perf_data_tables {
	const struct perf_data_file *file;
	bool keep_files;  /* stacks are unwound: mapped files stay open and get rows */
	bool same_kernel; /* the same release runs here: its vdso is the one that was mapped */
	struct process *processes;
	struct data_thread *threads;
	struct data_file *files; /* by key (uthash) */
	struct data_file **by_index;
	size_t nr_files, files_capacity;
	struct rule_set *rules;
	uint64_t nr_limits;  /* mappings and processes beyond a limit */
	char *kernel_symbol; /* as in struct perf_data_facts */
	uint64_t kernel_address;
};

void perf_data_tables_init(struct perf_data_tables *t, const struct perf_data_file *file);
void perf_data_tables_fini(struct perf_data_tables *t);

/* Handles a record that is not a sample; one that cannot be read is ignored. */
void perf_data_tables_take(struct perf_data_tables *t, const struct perf_data_record *r);

/* NULL where the process is not known. */
const struct process *perf_data_process(const struct perf_data_tables *t, uint32_t pid);
/* The name of a thread: COMM_SIZE bytes, filled with NUL. */
const char *perf_data_comm(struct perf_data_tables *t, uint32_t tid);

/* As struct snapshot_ops. */
bool perf_data_open_module(const struct perf_data_tables *t, uint64_t module,
			   struct snapshot_file *ret);
bool perf_data_find_rule(const struct perf_data_tables *t, uint64_t module, uint64_t vaddr,
			 struct walk_rule *ret);

#endif
