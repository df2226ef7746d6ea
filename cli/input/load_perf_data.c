/*
 * Reads a file of perf record, and decides whether its kernel addresses can be named here. perf
 * records the address of one symbol of the kernel. If a kernel of the same release, on a host of
 * the same name, has the symbol at the same address, it is the same kernel since the same boot:
 * that address is random at each boot.
 */
#include "cli/input/load_perf_data.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "core/base/buffer.h"
#include "core/base/log.h"
#include "core/base/memory_limit.h"
#include "core/profile/profile.h"
#include "sampler/perf_data/perf_data.h"

#define MAX_SIZE ((size_t)8 << 30) /* largest file in bytes; it is kept in memory */

/* The address, or 0 where the kernel has no such symbol or does not say. */
static uint64_t kernel_address(const char *symbol)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	uint64_t address, found = 0;
	char *line = NULL;
	size_t size = 0;
	int start;

	if (!f)
		return 0;
	while (!found && getline(&line, &size, f) > 0) {
		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "%" SCNx64 " %*c %n", &address, &start) == 1 &&
		    !strcmp(line + start, symbol))
			found = address;
	}
	free(line);
	fclose(f);
	return found;
}

static bool is_this_kernel(const struct profile *p, const struct perf_data_facts *facts)
{
	struct utsname here;

	return facts->kernel_symbol && !uname(&here) &&
	       !strcmp(here.nodename, profile_str(p, p->meta.hostname)) &&
	       !strcmp(here.release, profile_str(p, p->meta.kernel)) &&
	       kernel_address(facts->kernel_symbol) == facts->kernel_address;
}

static void report(int err, const char *name, const char *event, size_t size)
{
	if (err == -EFBIG && size)
		memory_limit_report(name, size, memory_limit_file(size));
	else if (err == -EINVAL)
		log_error(0, "read '%s': its header is damaged", name);
	else if (err == -ENOENT && event)
		log_error(0, "show event %s of '%s': it holds no such event", event, name);
	else if (err == -ENODATA)
		log_error(0, "read '%s': it holds no samples", name);
	else
		log_error(-err, "read '%s'", name);
}

static void say_what_is_missing(const struct profile *p, const struct perf_data_facts *facts,
				const char *name)
{
	uint64_t lost = p->stats.nr_lost, taken = lost + p->stats.nr_samples;

	if (facts->cut_off)
		log_warning("'%s' is UNFINISHED: perf did not finish it", name);
	if (facts->nr_damaged)
		log_warning("'%s': %" PRIu64 " of its records are damaged and left out", name,
			    facts->nr_damaged);
	if (facts->nr_other_events)
		log_warning("'%s': %" PRIu64 " samples of other events than %s are left out "
			    "(--event NAME chooses another)",
			    name, facts->nr_other_events, profile_str(p, p->meta.event));
	if (facts->nr_foreign_stacks)
		log_warning("'%s': %" PRIu64 " samples have stack copies of another architecture, "
			    "which cannot be unwound here: only their leaf is shown",
			    name, facts->nr_foreign_stacks);
	if (facts->nr_trace_bytes)
		log_warning("'%s': %" PRIu64 " bytes of hardware traces (AUX) are left out", name,
			    facts->nr_trace_bytes);
	if (lost)
		log_warning("%" PRIu64 " of %" PRIu64 " samples were lost", lost, taken);
}

int perf_data_load(FILE *f, const char *name, const struct perf_data_load_opts *opts,
		   bool *ret_elsewhere, struct profile **ret_profile)
{
	struct perf_data_facts facts;
	struct buffer data = { 0 };
	int err = buffer_add_file(&data, f, MAX_SIZE);
	size_t size = err ? 0 : data.size; /* 0: reading failed */

	if (!err)
		err = perf_data_read(data.data, data.size, opts->event, &facts, ret_profile);
	buffer_fini(&data);
	if (err) {
		report(err, name, opts->event, size);
		return err;
	}
	(*ret_profile)->meta.unfinished = facts.cut_off || facts.nr_damaged;
	*ret_elsewhere = !is_this_kernel(*ret_profile, &facts);
	if (opts->warn)
		say_what_is_missing(*ret_profile, &facts, name);
	free(facts.kernel_symbol);
	return 0;
}
