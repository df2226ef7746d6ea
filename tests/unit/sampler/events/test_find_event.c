/* sampler/events: names of events become numbers, from a folder that looks like the kernel's. */
#include "tests/unit/unit.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "sampler/events/find_event.h"
#include "sampler/events/pmu_event.h"

static char folder[] = "/tmp/sprof-pmu-XXXXXX";

static void put(const char *name, const char *text)
{
	char *path = xasprintf("%s/%s", folder, name), *slash = path + strlen(folder);
	FILE *f;

	while ((slash = strchr(slash + 1, '/'))) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	free(path);
}

static int make_folder(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	put("cpu/type", "4\n");
	put("cpu/format/event", "config:0-7,32-35\n");
	put("cpu/format/umask", "config:8-15\n");
	put("cpu/format/inv", "config:23\n");
	put("cpu/format/ldlat", "config1:0-15\n");
	put("cpu/events/mem-loads", "event=0xcd,umask=0x1,ldlat=3\n");
	put("cpu/events/broken", "event=0xcd,nothing=1\n");
	put("uncore/type", "12\n");
	put("uncore/cpumask", "0\n");
	put("uncore/events/reads", "config=1\n");
	return 0;
}

static int remove_folder(void **state)
{
	char *command = xasprintf("rm -r '%s'", folder);
	int err = system(command);

	(void)state;
	free(command);
	return err;
}

static int find(const char *name, struct found_event *ret)
{
	char why[256];

	*ret = (struct found_event){ 0 };
	snprintf(ret->name, sizeof(ret->name), "%s", name);
	return pmu_event_find(folder, name, ret, why, sizeof(why));
}

static void terms_set_the_bits_that_formats_name(void **state)
{
	struct found_event e;

	(void)state;
	assert_int_equal(find("cpu/mem-loads/", &e), 0);
	assert_int_equal(e.type, 4);
	assert_int_equal(e.config, 0x1cd);
	assert_int_equal(e.config1, 3);
	assert_int_equal(find("cpu/event=0x1c2,umask=0xff,inv/", &e), 0);
	assert_int_equal(e.config, 0x10080ffc2);
	assert_string_equal(e.name, "cpu/event=0x1c2,umask=0xff,inv/");
	/* A name without its PMU gets it. */
	assert_int_equal(find("mem-loads", &e), 0);
	assert_string_equal(e.name, "cpu/mem-loads/");
	assert_int_equal(e.config, 0x1cd);
}

static void what_no_pmu_has_is_refused(void **state)
{
	static const char *const names[] = {
		"nopmu/mem-loads/",
		"cpu/broken/",
		"cpu/no-such/",
		"cpu/umask=0x100/",
		"cpu/event=0x1000/",
		"cpu/event=x/",
		"cpu/event=/",
		"cpu//",
		"cpu/a/b/",
		"../cpu/mem-loads/",
		"cpu/../../type/",
		"no-such",
		"uncore/reads/",
		"reads",
		"/",
		"cpu/mem-loads",
	};
	struct found_event e;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		assert_int_not_equal(find(names[i], &e), 0);
}

static void names_of_the_kernel_have_numbers(void **state)
{
	char why[256], hint[128];
	struct found_event e;

	(void)state;
	assert_int_equal(event_find("page-faults", &e, why, 256, hint, 128), 0);
	assert_int_equal(e.type, PERF_TYPE_SOFTWARE);
	assert_int_equal(e.config, PERF_COUNT_SW_PAGE_FAULTS);
	assert_int_equal(event_find("cs", &e, why, 256, hint, 128), 0);
	assert_int_equal(e.config, PERF_COUNT_SW_CONTEXT_SWITCHES);
	assert_int_equal(event_find("instructions:u", &e, why, 256, hint, 128), 0);
	assert_int_equal(e.config, PERF_COUNT_HW_INSTRUCTIONS);
	assert_true(e.exclude_kernel && !e.exclude_user);
	assert_string_equal(e.name, "instructions:u");
	assert_int_equal(event_find("r1A8:k", &e, why, 256, hint, 128), 0);
	assert_int_equal(e.type, PERF_TYPE_RAW);
	assert_int_equal(e.config, 0x1a8);
	assert_true(e.exclude_user && !e.exclude_kernel);
	assert_int_equal(event_find("dTLB-store-misses", &e, why, 256, hint, 128), 0);
	assert_int_equal(e.type, PERF_TYPE_HW_CACHE);
	assert_int_equal(e.config, PERF_COUNT_HW_CACHE_DTLB | PERF_COUNT_HW_CACHE_OP_WRITE << 8 |
					   PERF_COUNT_HW_CACHE_RESULT_MISS << 16);
	assert_int_equal(event_find("L1-dcache-prefetches", &e, why, 256, hint, 128), 0);
	assert_int_not_equal(event_find("../../x:y", &e, why, 256, hint, 128), 0);
	assert_int_not_equal(event_find("a:b:c", &e, why, 256, hint, 128), 0);
	assert_int_not_equal(event_find(":", &e, why, 256, hint, 128), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(terms_set_the_bits_that_formats_name),
		cmocka_unit_test(what_no_pmu_has_is_refused),
		cmocka_unit_test(names_of_the_kernel_have_numbers),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
