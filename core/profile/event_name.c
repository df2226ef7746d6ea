/*
 * Modifiers follow the name after a colon (perf-list(1)). What follows the colon in the name of a
 * tracepoint has letters that are no modifiers.
 */
#include "core/profile/event_name.h"

#include <linux/perf_event.h>
#include <string.h>

#define SOFTWARE(name, other, config)                                                              \
	{                                                                                          \
		name, other, PERF_TYPE_SOFTWARE, config                                            \
	}
#define HARDWARE(name, other, config)                                                              \
	{                                                                                          \
		name, other, PERF_TYPE_HARDWARE, config                                            \
	}

const struct event_number event_numbers[] = {
	SOFTWARE("page-faults", "faults", PERF_COUNT_SW_PAGE_FAULTS),
	SOFTWARE("minor-faults", NULL, PERF_COUNT_SW_PAGE_FAULTS_MIN),
	SOFTWARE("major-faults", NULL, PERF_COUNT_SW_PAGE_FAULTS_MAJ),
	SOFTWARE("context-switches", "cs", PERF_COUNT_SW_CONTEXT_SWITCHES),
	SOFTWARE("cpu-migrations", "migrations", PERF_COUNT_SW_CPU_MIGRATIONS),
	SOFTWARE("alignment-faults", NULL, PERF_COUNT_SW_ALIGNMENT_FAULTS),
	SOFTWARE("emulation-faults", NULL, PERF_COUNT_SW_EMULATION_FAULTS),
	HARDWARE("cycles", "cpu-cycles", PERF_COUNT_HW_CPU_CYCLES),
	HARDWARE("instructions", NULL, PERF_COUNT_HW_INSTRUCTIONS),
	HARDWARE("cache-references", NULL, PERF_COUNT_HW_CACHE_REFERENCES),
	HARDWARE("cache-misses", NULL, PERF_COUNT_HW_CACHE_MISSES),
	HARDWARE("branches", "branch-instructions", PERF_COUNT_HW_BRANCH_INSTRUCTIONS),
	HARDWARE("branch-misses", NULL, PERF_COUNT_HW_BRANCH_MISSES),
	HARDWARE("bus-cycles", NULL, PERF_COUNT_HW_BUS_CYCLES),
	HARDWARE("ref-cycles", NULL, PERF_COUNT_HW_REF_CPU_CYCLES),
	HARDWARE("stalled-cycles-frontend", NULL, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND),
	HARDWARE("stalled-cycles-backend", NULL, PERF_COUNT_HW_STALLED_CYCLES_BACKEND),
};

const size_t nr_event_numbers = sizeof(event_numbers) / sizeof(*event_numbers);

bool event_name_is(const char *name, const char *want)
{
	size_t n = strlen(want);

	if (!n || strncmp(name, want, n))
		return false;
	return !name[n] ||
	       (name[n] == ':' && strspn(name + n + 1, "ukhIGHpPSDWeb") == strlen(name + n + 1));
}

/* Skips the longest word that the text begins with. Returns its index, or -1. */
static int take_word(const char **text, const char *const *words, int nr)
{
	size_t longest = 0;
	int found = -1;

	for (int i = 0; i < nr; i++) {
		size_t n = strlen(words[i]);

		if (n > longest && !strncmp(*text, words[i], n)) {
			longest = n;
			found = i;
		}
	}
	*text += longest;
	return found;
}

/* "LLC-load-misses", "dTLB-stores": cache, operation, and hits and misses or misses alone. */
static bool cache_number(const char *name, struct event_number *ret)
{
	/* In the order of enum perf_hw_cache_id and enum perf_hw_cache_op_id. */
	static const char *const caches[] = { "L1-dcache", "L1-icache", "LLC", "dTLB",
					      "iTLB",	   "branch",	"node" };
	static const char *const operations[] = { "-load", "-store", "-prefetch" };
	const char *at = name;
	int cache = take_word(&at, caches, sizeof(caches) / sizeof(*caches));
	int operation = take_word(&at, operations, sizeof(operations) / sizeof(*operations));
	bool all = !strcmp(at, "s") || !strcmp(at, "es");

	if (cache < 0 || operation < 0 || (!all && strcmp(at, "-misses")))
		return false;
	*ret = (struct event_number){
		.name = name,
		.type = PERF_TYPE_HW_CACHE,
		.config = (uint64_t)cache | (uint64_t)operation << 8 |
			  (uint64_t)(all ? PERF_COUNT_HW_CACHE_RESULT_ACCESS
					 : PERF_COUNT_HW_CACHE_RESULT_MISS)
				  << 16,
	};
	return true;
}

bool event_name_number(const char *name, struct event_number *ret)
{
	for (size_t i = 0; i < nr_event_numbers; i++) {
		const struct event_number *e = &event_numbers[i];

		if (!strcmp(e->name, name) || (e->other_name && !strcmp(e->other_name, name))) {
			*ret = *e;
			return true;
		}
	}
	return cache_number(name, ret);
}

bool event_name_is_plausible(const char *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789_-.:/=,";
	struct event_number known;
	size_t n = strlen(name);

	if (!n || n > EVENT_NAME_MAX || strspn(name, letters) != n)
		return false;
	return strpbrk(name, ":/") || event_name_number(name, &known) ||
	       (name[0] == 'r' && n > 1 && strspn(name + 1, "0123456789abcdefABCDEF") == n - 1);
}

/* Does the event count the time on a CPU, in ns? */
static bool is_clock(const char *name)
{
	return event_name_is(name, "cpu-clock") || event_name_is(name, "task-clock");
}

enum profile_column event_name_column(const char *name, uint64_t max_period)
{
	if (max_period && is_clock(name))
		return COLUMN_CPU;
	return max_period > 1 ? COLUMN_EVENTS : COLUMN_COUNT;
}
