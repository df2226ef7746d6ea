/* Each parser reads the whole text or refuses it, so a typo is never taken for a shorter value. */
#include "cli/gpu/gpu_opts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options/whole_number.h"
#include "core/profile/gpu_kinds.h"
#include "gpu/agent/base/region.h"

#define CLASS(name) (1u << GPU_API_##name)
#define KERNELS (CLASS(LAUNCH) | CLASS(GRAPH_LAUNCH))
#define MEMORY (CLASS(MEMCPY) | CLASS(MEMSET) | CLASS(ALLOC) | CLASS(FREE))

/* The bits of --gpu-collect are passed to the library unchanged. */
_Static_assert((int)GPU_KIND_KERNELS == GPU_WANT_KERNELS &&
		       (int)GPU_KIND_COPIES == GPU_WANT_MEMCPY &&
		       (int)GPU_KIND_FILLS == GPU_WANT_MEMSET &&
		       (int)GPU_KIND_WAITS == GPU_WANT_SYNC &&
		       (int)GPU_KIND_OVERHEAD == GPU_WANT_OVERHEAD &&
		       (int)GPU_KIND_GRAPHS == GPU_WANT_GRAPH_TRACE &&
		       (int)GPU_KIND_MEMORY == GPU_WANT_MEMORY &&
		       (int)GPU_KIND_RANGES == GPU_WANT_NVTX &&
		       (int)GPU_KIND_LAUNCHES == GPU_WANT_LAUNCHES &&
		       (int)GPU_KIND_FLOPS == GPU_WANT_FLOPS,
	       "one numbering");

bool record_gpu_parse_mode(const char *text, struct record_gpu_opts *o)
{
	static const char *const modes[] = {
		[GPU_AUTO] = "auto", [GPU_ON] = "on", [GPU_OFF] = "off"
	};

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (!strcmp(text, modes[i])) {
			o->mode = (enum gpu_mode)i;
			return true;
		}
	return false;
}

bool record_gpu_parse_api(const char *text, struct record_gpu_opts *o)
{
	static const struct {
		const char *name;
		uint32_t want;
	} choices[] = { { "driver", 0 },
			{ "runtime", GPU_WANT_API_RUNTIME },
			{ "all", GPU_WANT_API_RUNTIME | GPU_WANT_API_ALL } };

	for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++)
		if (!strcmp(text, choices[i].name)) {
			o->api = choices[i].want;
			return true;
		}
	return false;
}

bool record_gpu_parse_kinds(const char *text, struct record_gpu_opts *o)
{
	return gpu_kinds_parse(text, &o->kinds);
}

bool record_gpu_parse_overhead(const char *text, struct record_gpu_opts *o)
{
	char *end;
	double percent = strtod(text, &end);

	if (*text < '0' || *text > '9' || strcmp(end, "%") != 0 || !(percent >= 0.1) ||
	    !(percent <= 50))
		return false;
	o->max_overhead_ppm = (uint32_t)(percent * 10000 + 0.5);
	return true;
}

bool record_gpu_parse_pc_sampling(const char *text, struct record_gpu_opts *o)
{
	uint32_t want = GPU_WANT_PC_SAMPLES;
	const size_t word = sizeof("stacks") - 1;
	uint64_t period = 0;

	if (text && !strncmp(text, "stacks", word)) {
		want |= GPU_WANT_PC_STACKS;
		if (text[word] && text[word] != ',')
			return false;
		text = text[word] ? text + word + 1 : NULL;
	}
	if (text && (!whole_number_parse(text, 31, &period) || period < 5))
		return false;
	o->pc_want = want;
	o->pc_period = (uint32_t)period;
	return true;
}

bool record_gpu_parse_timeline(const char *text, struct record_gpu_opts *o)
{
	uint64_t value = 0;

	if (strcmp(text, "off") && !whole_number_parse(text, GPU_TIMELINE_MAX, &value))
		return false;
	o->timeline = value;
	return true;
}

bool record_gpu_parse_capture(const char *text, struct record_gpu_opts *o)
{
	static const char range[] = "nvtx:";
	const size_t max = sizeof(((struct gpu_region *)NULL)->capture_name);

	if (!strcmp(text, "cudaProfilerApi")) {
		o->capture = GPU_CAPTURE_PROFILER_API;
		return true;
	}
	text = strncmp(text, range, sizeof(range) - 1) ? "" : text + sizeof(range) - 1;
	if (!*text || strlen(text) >= max)
		return false;
	o->capture = GPU_CAPTURE_RANGE;
	o->capture_name = text;
	return true;
}

/* Parses 80000, 80000ns, 80us or 1ms; true if that is the whole text. */
static bool parse_threshold(const char *text, uint64_t *ret_ns)
{
	static const struct {
		const char *suffix;
		uint64_t ns;
	} units[] = {
		{ "", 1 }, { "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 }
	};
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || end == text || *text == '-' || value > UINT32_MAX)
		return false;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(end, units[i].suffix)) {
			*ret_ns = value * units[i].ns;
			return true;
		}
	return false;
}

bool record_gpu_parse_backtrace(const char *text, struct record_gpu_opts *o)
{
	static const struct {
		const char *name;
		uint32_t classes;
	} kinds[] = { { "all", KERNELS | MEMORY | CLASS(SYNC) },
		      { "kernel", KERNELS },
		      { "memory", MEMORY },
		      { "sync", CLASS(SYNC) } };
	size_t names = strcspn(text, ":");
	uint32_t classes = 0;
	uint64_t threshold = 0;

	if (text[names] && !parse_threshold(text + names + 1, &threshold))
		return false;
	for (size_t at = 0; at <= names;) {
		size_t size = strcspn(text + at, ",:");
		uint32_t found = 0;

		for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
			if (strlen(kinds[i].name) == size &&
			    !memcmp(kinds[i].name, text + at, size))
				found = kinds[i].classes;
		if (!found)
			return false;
		classes |= found;
		at += size + 1;
	}
	o->stack_classes = classes;
	o->stack_min_ns = threshold;
	return true;
}

void record_gpu_configure(const struct record_gpu_opts *o, struct gpu_config *ret,
			  char *ret_capture)
{
	*ret = (struct gpu_config){
		.want = (uint32_t)o->kinds | GPU_WANT_STACKS | GPU_WANT_RECORDS | o->api |
			o->pc_want,
		.stack_classes = o->stack_classes,
		.stack_min_ns = o->stack_min_ns,
		.capture = o->capture,
		.capture_once = o->capture_once,
		.max_overhead_ppm = o->max_overhead_ppm,
		.pc_period = o->pc_period,
	};
	if (o->capture_name)
		snprintf(ret_capture, sizeof(((struct gpu_region *)NULL)->capture_name), "%s",
			 o->capture_name);
}
