/* Ranks by the variables of launchers, in environments that may hold anything. */
#include "core/untrusted/job_rank.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/unit.h"

/* Variables are parted by blanks; they become NULs. rank -1: none is found. */
static void expect(const char *variables, int rank, uint32_t nr_ranks, uint32_t local_rank)
{
	char *environment = strdup(variables);
	size_t size = strlen(environment);
	struct job_rank r = { 0 };
	bool found;

	for (size_t i = 0; i < size; i++)
		environment[i] = environment[i] == ' ' ? '\0' : environment[i];
	found = job_rank_parse(environment, size, &r);
	assert_int_equal(found, rank >= 0);
	if (found) {
		assert_int_equal(r.rank, rank);
		assert_int_equal(r.nr_ranks, nr_ranks);
		assert_int_equal(r.local_rank, local_rank);
	}
	free(environment);
}

static void each_launcher_is_understood(void **state)
{
	(void)state;
	expect("PATH=/bin RANK=11 WORLD_SIZE=16 LOCAL_RANK=3", 11, 16, 3);
	expect("OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=0", 1, 2,
	       0);
	expect("PMI_SIZE=4 PMI_RANK=2", 2, 4, 2);
	expect("SLURM_PROCID=5 SLURM_NTASKS=8 SLURM_LOCALID=1", 5, 8, 1);
	expect("LOCAL_RANK=2 LOCAL_WORLD_SIZE=4", 2, 4, 2);
	expect("RANK=3", 3, 0, 3);
	/* torchrun in a task of Slurm */
	expect("SLURM_PROCID=1 SLURM_NTASKS=2 RANK=9 WORLD_SIZE=16 LOCAL_RANK=1", 9, 16, 1);
}

static void nonsense_is_no_rank(void **state)
{
	(void)state;
	expect("", -1, 0, 0);
	expect("RANKS=3 XRANK=4 RANK", -1, 0, 0);
	expect("RANK= WORLD_SIZE=4", -1, 0, 0);
	expect("RANK=-1 WORLD_SIZE=4", -1, 0, 0);
	expect("RANK=3x WORLD_SIZE=4", -1, 0, 0);
	expect("RANK=99999999999999999999", -1, 0, 0);
	expect("RANK=4 WORLD_SIZE=4", 4, 0, 4); /* the size cannot be */
	expect("RANK=first PMI_RANK=1 PMI_SIZE=2", 1, 2, 1);
}

static void a_process_is_read(void **state)
{
	struct job_rank r;

	(void)state;
	setenv("RANK", "7", 1);
	assert_true(job_rank_own(&r));
	assert_int_equal(r.rank, 7);
	unsetenv("RANK");
	assert_false(job_rank_of_process(-1, &r));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_launcher_is_understood),
		cmocka_unit_test(nonsense_is_no_rank),
		cmocka_unit_test(a_process_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
