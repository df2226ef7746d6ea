/*
 * A target may have its own copy of libcupti (torch has one beside its CUDA runtime). Two copies
 * in one process do not work, so a mapped copy always wins, and a new one comes from beside the
 * runtime: that one has the matching version.
 */
#include "gpu/agent/cupti/cupti.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu/agent/base/arena.h"
#include "gpu/agent/base/image.h"
#include "gpu/agent/base/report.h"
#include "gpu/agent/base/state.h"

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
	BIND(activity_enable_and_dump, "cuptiActivityEnableAndDump"),
	BIND(subscribe_v2, "cuptiSubscribe_v2"),
#undef BIND
};
#define NR_REQUIRED 8

void cupti_report_error(uint32_t code, int error, const char *what)
{
	struct text text = { .length = 0 };
	const char *words = NULL;

	text_add(&text, "cannot ");
	text_add(&text, what);
	text_add(&text, ": ");
	if (cupti.result_string && !cupti.result_string(error, &words) && words)
		text_add(&text, words);
	else
		text_add(&text, "CUPTI error");
	text_add(&text, " (");
	text_add_number(&text, (uint64_t)error);
	text_add(&text, ")");
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

static bool open_library(const char *path)
{
	void *(*open_fn)(const char *, int) =
		(void *(*)(const char *, int))image_libc_symbol("dlopen");

	return open_fn && open_fn(path, RTLD_NOW_LOCAL);
}

/* Opens `rest` relative to the folder of the image. */
static bool open_beside(const struct image *image, const char *rest)
{
	const char *slash = strrchr(image->path, '/');
	char path[1024];
	size_t folder, length = strlen(rest);

	if (!slash)
		return false;
	folder = (size_t)(slash - image->path) + 1;
	if (folder + length >= sizeof(path))
		return false;
	memcpy(path, image->path, folder);
	memcpy(path + folder, rest, length + 1);
	return !access(path, R_OK) && open_library(path);
}

static bool open_some(void)
{
	static const char *const beside[] = {
		"libcupti.so.13",
		"libcupti.so.12",
		"../../cuda_cupti/lib/libcupti.so.12",
		"../../cuda_cupti/lib/libcupti.so.11",
		"../extras/CUPTI/lib64/libcupti.so",
		"libcupti.so",
	};
	static const char *const usual[] = {
		"/usr/local/cuda/lib64/libcupti.so",
		"/usr/local/cuda/extras/CUPTI/lib64/libcupti.so",
		"libcupti.so.13",
		"libcupti.so.12",
		"libcupti.so.11.8",
		"libcupti.so",
	};
	static const char *const runtimes[] = { "libcudart.so", "libcudart-", "libcublas.so" };
	const char *asked = getenv(GPU_ENV_CUPTI);
	struct image image;

	if (asked && *asked)
		return open_library(asked);
	for (size_t i = 0; i < sizeof(runtimes) / sizeof(runtimes[0]); i++)
		for (size_t j = 0; j < sizeof(beside) / sizeof(beside[0]); j++)
			if (image_find(runtimes[i], &image) && open_beside(&image, beside[j]))
				return true;
	for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
		if ((usual[i][0] != '/' || !access(usual[i], R_OK)) && open_library(usual[i]))
			return true;
	return false;
}

/* Returns how many are mapped; *ret is the first. SPROF_CUPTI may name a file of any name. */
static int find_mapped(struct image *ret)
{
	const char *asked = getenv(GPU_ENV_CUPTI), *slash;
	int nr = image_find("libcupti.so", ret);

	if (nr || !asked || !*asked)
		return nr;
	slash = strrchr(asked, '/');
	return image_find(slash ? slash + 1 : asked, ret);
}

static int map_some(struct image *ret)
{
	int nr = find_mapped(ret);

	return !nr && open_some() ? find_mapped(ret) : nr;
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
