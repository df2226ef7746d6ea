/*
 * Without a usable driver CUPTI 11 and 12 return 15, CUPTI 13 returns 999, and some versions 39
 * (seen with 11.8, 12.1, 12.9, 13.0 and 13.5 over a driver without a GPU). Within cuInit, where we
 * are loaded, the driver answers every question with error 3, as it does after cuInit has failed.
 */
#include "gpu/agent/cupti/refusal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu/agent/base/arena.h"
#include "gpu/agent/base/report.h"
#include "gpu/agent/base/state.h"
#include "gpu/agent/cupti/cupti.h"
#include "gpu/agent/base/driver.h"

/* CUresult, as minus the number that driver_device_count() returns */
#define CUDA_NOT_INITIALIZED (-3)

static void ignore(void *user, uint32_t domain, uint32_t cbid, const void *d)
{
	(void)user;
	(void)domain;
	(void)cbid;
	(void)d;
}

/* Only cuptiSubscribe_v2 can name the current subscriber: it fails, and tells. */
static void report_foreign(void)
{
	char name[128] = "";
	struct cupti_subscriber_params params = { sizeof(params), "sprof", name, sizeof(name) };
	struct text text = { .length = 0 };
	void *s = NULL;

	if (cupti.subscribe_v2 && !cupti.subscribe_v2(&s, ignore, NULL, &params))
		cupti.unsubscribe(s); /* it has just become free: left to the next try */
	name[sizeof(name) - 1] = 0;
	text_add(&text, "CUPTI is in use by ");
	text_add(&text, name[0] ? name : "another tool");
	text_add(&text, ": GPU data starts when it is free (tried every 5 s)");
	report(GPU_FAIL_FOREIGN, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS, &text);
}

/* The error in CUPTI's words and as a number. */
static void add_error(struct text *text, int error)
{
	text_add(text, " (");
	cupti_add_error(text, error);
	text_add(text, ")");
}

/* The CUDA version in the library's name: cuptiGetVersion() is the same for 11.8 and 12.1. */
static uint32_t library_major(const char *name)
{
	const char *digits = strstr(name, ".so.");

	return digits ? (uint32_t)strtoul(digits + strlen(".so."), NULL, 10) : 0;
}

static bool is_too_new(int error)
{
	const char *path = arena_text(agent.region->cupti_path), *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	uint32_t driver = driver_version(), major = library_major(name);
	struct text text = { .length = 0 };

	if (!driver || major <= driver / 1000)
		return false;
	text_add(&text, "no GPU data: ");
	text_add(&text, name);
	text_add(&text, " is of CUDA ");
	text_add_number(&text, major);
	text_add(&text, ", the driver of CUDA ");
	text_add_number(&text, driver / 1000);
	text_add(&text, ".");
	text_add_number(&text, driver % 1000 / 10);
	text_add(&text, " (hint: SPROF_CUPTI names another libcupti)");
	report(GPU_FAIL_OLD_CUPTI, (uint32_t)error, &text);
	return true;
}

/* True if the driver has no device for this program; CUPTI's error then says nothing more. */
static bool has_no_device(int error, int devices)
{
	static const struct {
		int error;
		const char *words;
	} answers[] = {
		{ 0, "no GPU: the driver shows no device to this process (CUDA_VISIBLE_DEVICES?)" },
		{ -34, "no GPU data: libcuda is the toolkit's stub, not a driver (hint: take its "
		       "folder out of LD_LIBRARY_PATH)" },
		{ -35, "no GPU: the kernel module of the driver is too old for libcuda" },
		{ -46, "no GPU: the device is in use by others or not available" },
		{ -100, "no GPU: the driver says that there is no device" },
		{ -101, "no GPU: the driver says that the device is not valid" },
		{ -803, "no GPU: libcuda and the kernel module of the driver do not fit" },
		{ -804, "no GPU: libcuda's forward compatibility does not support this device" },
	};
	struct text text = { .length = 0 };

	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		if (answers[i].error != devices)
			continue;
		text_add(&text, answers[i].words);
		add_error(&text, error);
		report(GPU_FAIL_NO_DRIVER, (uint32_t)error, &text);
		return true;
	}
	return false;
}

static void report_passing(int error, int devices)
{
	struct text text = { .length = 0 };

	if (error == CUPTI_ERROR_NOT_COMPATIBLE) {
		text_add(&text, "another tool holds CUPTI in a way that excludes others");
		add_error(&text, error);
		text_add(&text, ": tried every 5 s");
		report(GPU_FAIL_FOREIGN, (uint32_t)error, &text);
		return;
	}
	text_add(&text, devices > 0 ? "CUPTI refuses although the driver works:"
				    : "CUPTI refuses, and the driver counts no devices:");
	add_error(&text, error);
	text_add(&text, "; tried every 5 s");
	report(GPU_FAIL_CUPTI, (uint32_t)error, &text);
}

void refusal_report_never_started(int error)
{
	struct text text = { .length = 0 };

	text_add(&text, "CUDA has not started in this process: cuInit failed or never ended");
	if (access("/dev/nvidiactl", F_OK) && access("/dev/dxg", F_OK))
		text_add(&text, "; there is no /dev/nvidiactl, so no driver runs here");
	add_error(&text, error);
	report(GPU_FAIL_NO_DRIVER, (uint32_t)error, &text);
}

enum refusal refusal_explain(int error)
{
	int devices = driver_device_count();

	if (is_too_new(error) || has_no_device(error, devices))
		return REFUSAL_FINAL;
	switch (error) {
	case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS: report_foreign(); return REFUSAL_PASSES;
	case CUPTI_ERROR_NOT_INITIALIZED:
	case CUPTI_ERROR_UNKNOWN:
		if (devices == CUDA_NOT_INITIALIZED)
			return REFUSAL_TOO_EARLY;
		/* fallthrough */
	case CUPTI_ERROR_NOT_COMPATIBLE: report_passing(error, devices); return REFUSAL_PASSES;
	case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
		cupti_report_error(GPU_FAIL_PRIVILEGES, error, "collect GPU data");
		return REFUSAL_FINAL;
	default:
		cupti_report_error(GPU_FAIL_CUPTI, error, "subscribe to CUPTI");
		return REFUSAL_FINAL;
	}
}
