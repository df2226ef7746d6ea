/* sampler/attach/attach.c: memory that a process maps while it is attached to stays its own. */
// BUILD: -Wl,--wrap=inject_process_address
#include "tests/unit/unit.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler/attach/attach.h"
#include "sampler/inject/inject_process.h"
#include "sampler/inject/inject.h"
#include "sampler/timer/targets/timer_region.h"

#define SIZE (1u << 20)
#define MARK 0x5f0f000ull		 /* where stubs lie in each 256 MiB */
#define PLACE (0x200000000000ull + MARK) /* also free beside AddressSanitizer */

static uint8_t *taken;

uint64_t __wrap_inject_process_address(const struct inject_process *p, unsigned int n);

/* As if what lies behind it had been mapped after the maps were read. */
uint64_t __wrap_inject_process_address(const struct inject_process *p, unsigned int n)
{
	(void)p;
	return n ? 0 : PLACE;
}

static pid_t start_child(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	for (; !pid; usleep(1000))
		for (size_t i = 0; i < SIZE; i += 4096)
			if (taken[i] != 0x55)
				_exit(1);
	return pid;
}

static void what_a_process_maps_meanwhile_is_not_unmapped(void **state)
{
	const struct timer_region_config config = { .period_ns = 4000000 };
	struct inject_reason reason = { 0 };
	struct timer_region region;
	struct attach *attach;
	int status, err;
	pid_t pid;

	(void)state;
	taken = mmap((void *)(uintptr_t)(PLACE + INJECT_STUB_SIZE), SIZE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	assert_true(taken != MAP_FAILED);
	memset(taken, 0x55, SIZE);
	pid = start_child();
	assert_int_equal(timer_region_new(&config, &region), 0);
	err = attach_begin(pid, &(struct attach_files){ region.fd, -1, 0, region.shared }, &attach,
			   &reason);
	print_message("%d: %s\n", err, reason.why);
	if (err != -EEXIST) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		if (err == -EPERM || err == -EACCES)
			skip(); /* other processes cannot be entered here */
	}
	assert_int_equal(err, -EEXIST);
	usleep(50000);
	assert_int_equal(kill(pid, SIGTERM), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGTERM);
	timer_region_free(&region);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_process_maps_meanwhile_is_not_unmapped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
