/*
 * Computes how many blocks fit on a multiprocessor: the scarcest of its resources decides. A block
 * takes whole warps, however few threads are in its last one.
 */
#include "output/report/occupancy.h"

#include <stdint.h>

#include "core/profile/facts.h"

#define REGISTER_UNIT 256 /* registers are allocated to a warp in pieces of this size */
#define WARP_UNIT 4	  /* and to four warps at a time, one for each scheduler */
#define SHARED_UNIT 128	  /* bytes of shared memory are allocated in pieces of this size */
/* bytes that each block takes for itself, compute capability 8.0 and later */
#define SHARED_SYSTEM 1024
#define SANE (1u << 20)

static uint64_t round_up(uint64_t n, uint64_t unit)
{
	return (n + unit - 1) / unit * unit;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

bool occupancy_percent(const struct fact_gpu_device *device, const struct fact_gpu_work *kernel,
		       unsigned *ret_percent)
{
	uint64_t threads, warps, blocks, per_warp, shared;

	for (int i = 0; i < 3; i++)
		if (!kernel->block[i] || kernel->block[i] > SANE)
			return false;
	threads = kernel->block[0] * kernel->block[1] * kernel->block[2];
	if (!device->warp_threads || device->warp_threads > SANE || !device->max_warps_per_sm ||
	    device->max_warps_per_sm > SANE || !threads || threads > SANE)
		return false;
	warps = round_up(threads, device->warp_threads) / device->warp_threads;
	blocks = device->max_warps_per_sm / warps;
	if (device->max_blocks_per_sm)
		blocks = least(blocks, device->max_blocks_per_sm);
	if (device->max_registers_per_sm && kernel->registers && kernel->registers < SANE) {
		per_warp = round_up(kernel->registers * device->warp_threads, REGISTER_UNIT);
		blocks = least(blocks, device->max_registers_per_sm / per_warp / WARP_UNIT *
					       WARP_UNIT / warps);
	}
	shared = least(kernel->shared_static, UINT32_MAX) +
		 least(kernel->shared_dynamic, UINT32_MAX);
	if (device->cc_major >= 8)
		shared += SHARED_SYSTEM;
	if (device->max_shared_per_sm && shared)
		blocks = least(blocks, device->max_shared_per_sm / round_up(shared, SHARED_UNIT));
	*ret_percent = (unsigned)(blocks * warps * 100 / device->max_warps_per_sm);
	return true;
}

bool occupancy_of_launch(const struct fact_gpu_device *device,
			 const struct fact_gpu_activity *kernel, unsigned *ret_ppm)
{
	const struct fact_gpu_work shape = {
		.registers = kernel->registers,
		.shared_static = kernel->shared_bytes,
		.block = { kernel->block[0], kernel->block[1], kernel->block[2] },
	};
	double blocks = (double)kernel->grid[0] * (double)kernel->grid[1] * (double)kernel->grid[2];
	uint64_t threads;
	unsigned percent;
	double ppm;

	if (blocks < 1 || !device->nr_sms || !occupancy_percent(device, &shape, &percent))
		return false;
	threads = shape.block[0] * shape.block[1] * shape.block[2];
	ppm = 1e6 * blocks *
	      (double)(round_up(threads, device->warp_threads) / device->warp_threads) /
	      ((double)device->nr_sms * (double)device->max_warps_per_sm);
	*ret_ppm = ppm < percent * 1e4 ? (unsigned)ppm : percent * 10000;
	return true;
}
