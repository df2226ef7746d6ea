/*
 * Writes the tables of what was counted: loads the profile, writes the table that was asked for, or
 * reports why the recording does not have it.
 */
#include "cli/report/fact_tables.h"

#include <errno.h>

#include "cli/input/load.h"
#include "cli/input/view.h"
#include "core/base/buffer.h"
#include "core/profile/facts.h"
#include "core/profile/gpu_kinds.h"
#include "core/base/log.h"
#include "core/profile/profile.h"
#include "output/insight/calls_report.h"
#include "output/kernels/flops_report.h"
#include "output/insight/gpu_report.h"
#include "output/insight/locks_report.h"
#include "output/insight/range_report.h"
#include "output/kernels/stalls_report.h"
#include "output/report/grid_report.h"
#include "output/report/syscalls_report.h"

static bool write_table(struct buffer *b, const struct profile *p,
			const struct report_facts_opts *o)
{
	const struct grid_report_opts how = { .max_rows = o->max_rows,
					      .json = o->json,
					      .columns = o->terminal.columns,
					      .unicode = o->terminal.unicode,
					      .sums = &p->sums };
	const struct range_report_opts ranges = { .max_rows = o->max_rows,
						  .skip = o->skip,
						  .json = o->json };

	switch (o->table) {
	case REPORT_GPU: return gpu_report_write(b, p, GPU_REPORT_WORK, &how);
	case REPORT_API: return gpu_report_write(b, p, GPU_REPORT_API, &how);
	case REPORT_MEMCPY: return gpu_report_write(b, p, GPU_REPORT_COPIES, &how);
	case REPORT_RANGES: return range_report_write(b, p, &ranges);
	case REPORT_CALLS: return calls_report_write(b, p, &how);
	case REPORT_LOCKS: return locks_report_write(b, p, &how);
	case REPORT_SYSCALLS: return syscalls_report_write(b, p, &how);
	case REPORT_FLOPS: return flops_report_write(b, p, o->rows, &how);
	case REPORT_STALLS: return stalls_report_write(b, p, &how);
	case REPORT_OPERATORS: /* written by sampled_tables.h */
	case REPORT_FUNCTIONS: break;
	}
	return false;
}

/* Says which kinds of work for that table the recording left out. Returns whether it did. */
static bool log_not_collected(const struct profile *p, enum report_table table)
{
	static const uint64_t kinds[] = {
		[REPORT_GPU] = GPU_KIND_KERNELS | GPU_KIND_COPIES | GPU_KIND_FILLS,
		[REPORT_API] = GPU_KINDS_ALL & ~(GPU_KIND_RANGES | GPU_KIND_OVERHEAD),
		[REPORT_MEMCPY] = GPU_KIND_COPIES | GPU_KIND_FILLS,
		[REPORT_RANGES] = GPU_KIND_RANGES,
		[REPORT_FLOPS] = GPU_KIND_FLOPS,
	};
	uint64_t missing = gpu_kinds_not_collected(p);
	struct buffer names = { 0 };

	missing &= table < sizeof(kinds) / sizeof(*kinds) ? kinds[table] : 0;
	if (!missing)
		return false;
	gpu_kinds_add(&names, missing);
	log_info("not collected (sprof record --gpu-kinds): %s", buffer_cstring(&names));
	buffer_fini(&names);
	return true;
}

/*
 * Reports why there is nothing to show: nothing was collected, which the recording's notes explain,
 * or nothing happened.
 */
static void say_why(const struct profile *p, enum report_table table, const char *name)
{
	static const char *const what[] = {
		[REPORT_GPU] = "no work of a GPU",
		[REPORT_API] = "no calls of the CUDA API",
		[REPORT_MEMCPY] = "no copies of a GPU",
		[REPORT_RANGES] = "no NVTX ranges",
		[REPORT_CALLS] = "no counts of calls",
		[REPORT_LOCKS] = "no waits for locks",
		[REPORT_SYSCALLS] = "no counts of system calls",
		[REPORT_FLOPS] = "no calls of cuBLAS or cuDNN",
		[REPORT_STALLS] = "no samples inside GPU kernels",
	};
	const struct fact_gpu_note *notes;
	size_t nr;

	log_error(0, "report on '%s': it holds %s", name, what[table]);
	if (table == REPORT_CALLS) {
		log_hint("sprof record --calls FUNCTION counts them");
		return;
	}
	if (table == REPORT_SYSCALLS) {
		log_hint("sprof record --syscalls counts them");
		return;
	}
	if (table == REPORT_LOCKS) {
		log_hint("sprof record --clock wall samples them where BPF is allowed");
		return;
	}
	if (log_not_collected(p, table))
		return;
	if (table == REPORT_STALLS)
		log_hint(
			"sprof record --pc-sampling -- PROGRAM takes them, where the driver allows "
			"it");
	notes = facts_rows(p, FACT_GPU_NOTE, &nr);
	for (size_t i = 0; i < nr; i++)
		log_info("process %llu: %s", (unsigned long long)notes[i].pid,
			 profile_str(p, (uint32_t)notes[i].text));
	if (!nr && table != REPORT_STALLS)
		log_hint("sprof record --gpu on -- PROGRAM collects it where the program uses CUDA "
			 "or NVTX");
}

int report_facts(const struct report_facts_opts *opts)
{
	/* only this table shows stacks, whose frames need names */
	const struct load_opts load = { .no_symbols = opts->table != REPORT_FLOPS,
					.filter = opts->filter };
	struct buffer b = { 0 };
	struct profile *p;
	int err = profile_load(opts->input, &load, &p);

	if (err)
		return err;
	if (write_table(&b, p, opts)) {
		if (!opts->json && opts->table != REPORT_RANGES)
			terminal_fold(&opts->terminal, &b);
		err = view_write(opts->output, &b);
	} else {
		say_why(p, opts->table, opts->input ? opts->input : LOAD_DEFAULT_PATH);
		err = -ENODATA;
	}
	buffer_fini(&b);
	profile_free(p);
	return err;
}
