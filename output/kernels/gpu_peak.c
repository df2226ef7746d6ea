/*
 * Knows the peaks of GPUs by architecture, as operations per clock and multiprocessor; an addition
 * and a multiplication are two. Each row of the table follows from NVIDIA's white paper of that
 * architecture, which gives operations per second, multiprocessors and boost clocks of its
 * products.
 */
#include "output/kernels/gpu_peak.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "core/profile/facts.h"
#include "core/profile/profile.h"

struct architecture {
	uint8_t major, minor; /* compute capability */
	const char *source;
	uint16_t per_clock[GPU_NR_FLOPS_TYPES]; /* 0 = not known, or it has none */
};

static const struct architecture architectures[] = {
	{ 7,
	  0,
	  "NVIDIA's white paper of Volta (V100)",
	  { [GPU_FLOPS_FP64] = 64,
	    [GPU_FLOPS_FP32] = 128,
	    [GPU_FLOPS_FP16] = 1024,
	    [GPU_FLOPS_FP16_SUMS] = 1024 } },
	{ 7,
	  5,
	  "NVIDIA's white paper of Turing (TU102)",
	  { [GPU_FLOPS_FP64] = 4,
	    [GPU_FLOPS_FP32] = 128,
	    [GPU_FLOPS_FP16] = 1024,
	    [GPU_FLOPS_FP16_SUMS] = 1024,
	    [GPU_FLOPS_INT8] = 2048 } },
	{ 8,
	  0,
	  "NVIDIA's white paper of Ampere (A100)",
	  { [GPU_FLOPS_FP64] = 128,
	    [GPU_FLOPS_FP32] = 128,
	    [GPU_FLOPS_TF32] = 1024,
	    [GPU_FLOPS_FP16] = 2048,
	    [GPU_FLOPS_FP16_SUMS] = 2048,
	    [GPU_FLOPS_BF16] = 2048,
	    [GPU_FLOPS_INT8] = 4096 } },
	{ 8,
	  6,
	  "NVIDIA's white paper of Ampere (GA102)",
	  { [GPU_FLOPS_FP64] = 4,
	    [GPU_FLOPS_FP32] = 256,
	    [GPU_FLOPS_TF32] = 512,
	    [GPU_FLOPS_FP16] = 1024,
	    [GPU_FLOPS_FP16_SUMS] = 1024,
	    [GPU_FLOPS_BF16] = 1024,
	    [GPU_FLOPS_INT8] = 2048 } },
	{ 8,
	  9,
	  "NVIDIA's white paper of Ada (AD102)",
	  { [GPU_FLOPS_FP64] = 4,
	    [GPU_FLOPS_FP32] = 256,
	    [GPU_FLOPS_TF32] = 512,
	    [GPU_FLOPS_FP16] = 1024,
	    [GPU_FLOPS_FP16_SUMS] = 1024,
	    [GPU_FLOPS_BF16] = 1024,
	    [GPU_FLOPS_FP8] = 2048,
	    [GPU_FLOPS_INT8] = 2048 } },
	{ 9,
	  0,
	  "NVIDIA's white paper of Hopper (H100)",
	  { [GPU_FLOPS_FP64] = 256,
	    [GPU_FLOPS_FP32] = 256,
	    [GPU_FLOPS_TF32] = 2048,
	    [GPU_FLOPS_FP16] = 4096,
	    [GPU_FLOPS_FP16_SUMS] = 4096,
	    [GPU_FLOPS_BF16] = 4096,
	    [GPU_FLOPS_FP8] = 8192,
	    [GPU_FLOPS_INT8] = 8192 } },
};

static const struct architecture *find(const struct fact_gpu_device *d)
{
	for (size_t i = 0; i < sizeof(architectures) / sizeof(*architectures); i++)
		if (architectures[i].major == d->cc_major && architectures[i].minor == d->cc_minor)
			return &architectures[i];
	return NULL;
}

/* Do matrix units compute this type with sums in FP32? GeForce does that at half the rate. */
static bool sums_in_single(uint64_t type)
{
	return type == GPU_FLOPS_TF32 || type == GPU_FLOPS_FP16 || type == GPU_FLOPS_BF16 ||
	       type == GPU_FLOPS_FP8;
}

/* The type that the device computes in: TF32 begins with 8.0. */
static uint64_t type_on(const struct fact_gpu_device *d, uint64_t type)
{
	bool is_single = type == GPU_FLOPS_TF32 || type == GPU_FLOPS_FP32_OR_TF32;

	return is_single && d->cc_major < 8 ? GPU_FLOPS_FP32 : type;
}

double gpu_peak(const struct profile *p, const struct fact_gpu_device *d, uint64_t type,
		const char **ret_source)
{
	const struct architecture *a = d ? find(d) : NULL;
	const char *name = d ? profile_str(p, (uint32_t)d->name) : "";
	double peak;

	*ret_source = "the GPU's clock and multiprocessors are not known";
	if (!d || !d->nr_sms || !d->clock_khz || !d->cc_major)
		return 0;
	*ret_source = "no figures for this kind of GPU";
	if (!a || (strstr(name, "GeForce GTX") && a->minor == 5)) /* without matrix units */
		return 0;
	type = type_on(d, type);
	*ret_source = type == GPU_FLOPS_FP32_OR_TF32 ? "the library chose between FP32 and TF32"
						     : "no figures for this type of data";
	if (type >= GPU_NR_FLOPS_TYPES || !a->per_clock[type])
		return 0;
	*ret_source = a->source;
	peak = (double)a->per_clock[type] * (double)d->nr_sms * (double)d->clock_khz * 1000;
	return strstr(name, "GeForce") && sums_in_single(type) ? peak / 2 : peak;
}

const char *gpu_peak_type_name(uint64_t type)
{
	static const char *const names[] = {
		[GPU_FLOPS_UNKNOWN] = "unknown",
		[GPU_FLOPS_FP64] = "FP64",
		[GPU_FLOPS_FP32] = "FP32",
		[GPU_FLOPS_TF32] = "TF32",
		[GPU_FLOPS_FP16] = "FP16",
		[GPU_FLOPS_BF16] = "BF16",
		[GPU_FLOPS_FP8] = "FP8",
		[GPU_FLOPS_INT8] = "INT8",
		[GPU_FLOPS_FP4] = "FP4",
		[GPU_FLOPS_FP16_SUMS] = "FP16 sums",
		[GPU_FLOPS_FP32_OR_TF32] = "FP32 or TF32",
	};

	return type < sizeof(names) / sizeof(*names) ? names[type] : names[GPU_FLOPS_UNKNOWN];
}
