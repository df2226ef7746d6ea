/*
 * A target may have its own copy of libcupti (torch has one beside its CUDA runtime). A mapped copy
 * always wins. One that we map is hidden from the loader (soname.h): a program that maps its own
 * later gets its own, whose functions ours may lack.
 */
#include "gpu/agent/cupti/cupti.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu/agent/base/arena.h"
#include "gpu/agent/base/image.h"
#include "gpu/agent/base/report.h"
#include "gpu/agent/base/soname.h"
#include "gpu/agent/base/state.h"
#include "gpu/agent/base/driver.h"
#include "gpu/agent/cupti/library_choice.h"

#define RTLD_NOW_LOCAL                                                                             \
	2 /* not <dlfcn.h>: its dlopen would be bound to the C library of the build */

struct cupti cupti;

static const struct {
	const char *name;
	size_t offset;
} functions[] = {
#define BIND(member, symbol)                                                                       \
	{                                                                                          \
		symbol, offsetof(struct cupti, member)                                             \
	}
	BIND(subscribe, "cuptiSubscribe"),
	BIND(unsubscribe, "cuptiUnsubscribe"),
	BIND(enable_callback, "cuptiEnableCallback"),
	BIND(activity_enable, "cuptiActivityEnable"),
	BIND(activity_disable, "cuptiActivityDisable"),
	BIND(register_callbacks, "cuptiActivityRegisterCallbacks"),
	BIND(next_record, "cuptiActivityGetNextRecord"),
	BIND(flush_all, "cuptiActivityFlushAll"),
	BIND(nr_dropped, "cuptiActivityGetNumDroppedRecords"),
	BIND(get_version, "cuptiGetVersion"),
	BIND(get_timestamp, "cuptiGetTimestamp"),
	BIND(register_timestamp, "cuptiActivityRegisterTimestampCallback"),
	BIND(set_attribute, "cuptiActivitySetAttribute"),
	BIND(get_attribute, "cuptiActivityGetAttribute"),
	BIND(callback_name, "cuptiGetCallbackName"),
	BIND(result_string, "cuptiGetResultString"),
	BIND(finalize, "cuptiFinalize"),
	BIND(graph_node_id, "cuptiGetGraphNodeId"),
	BIND(activity_enable_and_dump, "cuptiActivityEnableAndDump"),
	BIND(subscribe_v2, "cuptiSubscribe_v2"),
	BIND(pc.enable, "cuptiPCSamplingEnable"),
	BIND(pc.disable, "cuptiPCSamplingDisable"),
	BIND(pc.configure, "cuptiPCSamplingSetConfigurationAttribute"),
	BIND(pc.get_data, "cuptiPCSamplingGetData"),
	BIND(pc.nr_stalls, "cuptiPCSamplingGetNumStallReasons"),
	BIND(pc.stall_names, "cuptiPCSamplingGetStallReasons"),
	BIND(pc.source_line, "cuptiGetSassToSourceCorrelation"),
	BIND(pc.cubin_crc, "cuptiGetCubinCrc"),
#undef BIND
};
#define NR_REQUIRED 8

void cupti_add_error(struct text *text, int error)
{
	const char *words = NULL;

	if (cupti.result_string && !cupti.result_string(error, &words) && words)
		text_add(text, words);
	else
		text_add(text, "CUPTI error");
	text_add(text, " (");
	text_add_number(text, (uint64_t)error);
	text_add(text, ")");
}

void cupti_report_error(uint32_t code, int error, const char *what)
{
	struct text text = { .length = 0 };

	text_add(&text, "cannot ");
	text_add(&text, what);
	text_add(&text, ": ");
	cupti_add_error(&text, error);
	report(code, (uint32_t)error, &text);
}

static int bind_all(const struct image *image)
{
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		void *at = image_symbol(image, functions[i].name);
		struct text text = { .length = 0 };

		memcpy((char *)&cupti + functions[i].offset, &at, sizeof(at));
		if (at || i >= NR_REQUIRED)
			continue;
		text_add(&text, "cannot use '");
		text_add(&text, image->path);
		text_add(&text, "': it has no ");
		text_add(&text, functions[i].name);
		report(GPU_FAIL_OLD_CUPTI, 0, &text);
		return -ENOSYS;
	}
	return 0;
}

static uintptr_t own; /* where the copy that we mapped is, 0 = none */

static void *open_library(const char *path)
{
	void *(*open_fn)(const char *, int) =
		(void *(*)(const char *, int))image_libc_symbol("dlopen");

	return open_fn ? open_fn(path, RTLD_NOW_LOCAL) : NULL;
}

bool cupti_is_ours(void)
{
	return own != 0;
}

int cupti_find_theirs(struct image *ret)
{
	return image_find_except("libcupti.so", own, ret);
}

/* SPROF_CUPTI may name a file of any name. Returns how many are mapped; *ret is the first. */
static int find_mapped(struct image *ret)
{
	const char *asked = getenv(GPU_ENV_CUPTI), *slash;
	int nr = image_find("libcupti.so", ret);

	if (nr || !asked || !*asked)
		return nr;
	slash = strrchr(asked, '/');
	return image_find(slash ? slash + 1 : asked, ret);
}

/*
 * The loader's cache may know folders that library_choose() does not. The loader also remembers the
 * name that a library was opened by, so it is asked for the path only.
 */
static bool ask_loader(uint32_t driver, char ret_path[LIBRARY_PATH_BYTES])
{
	static const struct {
		const char *name;
		uint32_t version;
	} names[] = { { "libcupti.so.13", 13000 },
		      { "libcupti.so.12", 12000 },
		      { "libcupti.so.11.8", 11000 } };
	int (*close_fn)(void *) = (int (*)(void *))image_libc_symbol("dlclose");
	struct image image;

	for (size_t i = 0; close_fn && i < sizeof(names) / sizeof(names[0]); i++) {
		void *library =
			driver && driver < names[i].version ? NULL : open_library(names[i].name);
		bool found = library && image_find("libcupti.so", &image);

		if (library)
			close_fn(library);
		if (!found)
			continue;
		memcpy(ret_path, image.path, strlen(image.path) + 1);
		return true;
	}
	return false;
}

static bool open_some(struct image *ret)
{
	const char *asked = getenv(GPU_ENV_CUPTI);
	char path[LIBRARY_PATH_BYTES];
	uint32_t driver = driver_version();

	if (asked && *asked) {
		if (!open_library(asked))
			return false;
	} else if ((!library_choose(driver, path) && !ask_loader(driver, path)) ||
		   !open_library(path)) {
		return false;
	}
	if (!find_mapped(ret))
		return false;
	if (soname_hide(ret))
		own = ret->base;
	return true;
}

static int map_some(struct image *ret)
{
	struct image theirs;
	int nr = find_mapped(ret);

	if (!nr)
		return open_some(ret) ? 1 : 0;
	if (!own || !cupti_find_theirs(&theirs))
		return nr;
	/* the program has mapped its own since we mapped ours for the recorder to read */
	*ret = theirs;
	own = 0;
	return 1;
}

void cupti_map(void)
{
	struct image image;

	if (!cupti.subscribe)
		map_some(&image);
}

int cupti_load(void)
{
	struct image image;
	int nr;

	if (cupti.subscribe)
		return 0;
	nr = map_some(&image);
	if (!nr) {
		report_words(GPU_FAIL_NO_CUPTI, 0,
			     "cannot find libcupti: no GPU data (hint: set "
			     "SPROF_CUPTI=/path/to/libcupti.so)");
		return -ENOENT;
	}
	if (nr > 1)
		report_words(
			GPU_FAIL_SECOND_CUPTI, 0,
			"two copies of libcupti are loaded: sprof uses the first; a tool that uses "
			"the other may get incomplete data");
	if (bind_all(&image)) {
		cupti.subscribe = NULL;
		return -ENOSYS;
	}
	if (cupti.get_version)
		cupti.get_version(&agent.region->cupti_version);
	agent.region->cupti_path = arena_cstring(image.path);
	return 0;
}
