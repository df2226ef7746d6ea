/* sampler/attach/attach.c: memory that a process maps while it is attached to stays its own. */
// BUILD: -Wl,--wrap=inject_process_address
#include "tests/unit/unit.h"
#include "tests/unit/occupied.h"

#include "sampler/attach/attach.h"
#include "sampler/inject/inject_process.h"
#include "sampler/inject/inject.h"
#include "sampler/timer/targets/timer_region.h"

#define SIZE (1u << 20)
#define MARK 0x5f0f000ull		 /* where stubs lie in each 256 MiB */
#define PLACE (0x200000000000ull + MARK) /* also free beside AddressSanitizer */

uint64_t __wrap_inject_process_address(const struct inject_process *p, unsigned int n);

/* As if what lies behind it had been mapped after the maps were read. */
uint64_t __wrap_inject_process_address(const struct inject_process *p, unsigned int n)
{
	(void)p;
	return n ? 0 : PLACE;
}

static void what_a_process_maps_meanwhile_is_not_unmapped(void **state)
{
	const struct timer_region_config config = { .period_ns = 4000000 };
	struct inject_reason reason = { 0 };
	struct timer_region region;
	struct attach *attach;
	uint8_t *taken;
	pid_t pid;
	int err;

	(void)state;
	taken = occupied_map(PLACE + INJECT_STUB_SIZE, SIZE);
	pid = occupied_start(taken, SIZE);
	assert_int_equal(timer_region_new(&config, &region), 0);
	err = attach_begin(pid, &(struct attach_files){ region.fd, -1, 0, region.shared }, &attach,
			   &reason);
	occupied_was_refused(pid, err, &reason);
	timer_region_free(&region);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_process_maps_meanwhile_is_not_unmapped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
