/* What the kernel's files say of the end of a process. */
#include "tests/unit/unit.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/profile/process_end.h"
#include "sampler/alloc/target_end.h"

static void kills_are_counted_in_files_of_both_versions(void **state)
{
	uint64_t nr = 0;

	(void)state;
	assert_true(target_end_parse_count("low 0\nhigh 2\nmax 7\noom 1\noom_kill 3\n", "oom_kill",
					   &nr));
	assert_int_equal(nr, 3);
	assert_true(target_end_parse_count("oom_kill_disable 0\nunder_oom 0\noom_kill 12\n",
					   "oom_kill", &nr));
	assert_int_equal(nr, 12);
	assert_false(target_end_parse_count("oom_kill_disable 0\noom_kill", "oom_kill", &nr));
	assert_false(target_end_parse_count("", "oom_kill", &nr));
}

static void the_code_of_a_zombie_is_the_last_field(void **state)
{
	int code = -1;

	(void)state;
	assert_true(target_end_parse_stat("12 (a) b) Z 1 2 3 0 0 9\n", &code));
	assert_int_equal(code, 9);
	assert_false(target_end_parse_stat("12 (a Z 7) S 1 2 3 0 0 9\n", &code));
	assert_false(target_end_parse_stat("12 (a) Z", &code));
	assert_false(target_end_parse_stat("", &code));
}

static struct fact_process_end end_of(bool reap)
{
	struct fact_process_end fact = { 0 };
	struct target_end end;
	pid_t pid = fork();

	if (!pid) {
		pause();
		_exit(0);
	}
	target_end_watch(&end, pid);
	assert_false(target_end_has_come(&end));
	kill(pid, SIGTERM);
	if (reap)
		waitpid(pid, NULL, 0);
	for (int i = 0; i < 1000 && !target_end_has_come(&end); i++)
		usleep(1000);
	assert_true(target_end_has_come(&end));
	target_end_ask(&end, &fact);
	target_end_fini(&end);
	if (!reap)
		waitpid(pid, NULL, 0);
	return fact;
}

static void a_signal_is_known_of_a_zombie(void **state)
{
	char text[PROCESS_END_TEXT];
	struct fact_process_end fact = end_of(false);

	(void)state;
	assert_int_equal(fact.how, PROCESS_END_SIGNAL);
	assert_int_equal(fact.code, SIGTERM);
	assert_string_equal(process_end_text(&fact, text), "was killed by signal 15 (Terminated)");
}

/* Before Linux 6.15 only the parent is told. */
static void once_reaped_it_is_known_or_said_to_be_unknown(void **state)
{
	struct fact_process_end fact = end_of(true);

	(void)state;
	assert_true(fact.how == PROCESS_END_SIGNAL ? fact.code == SIGTERM
						   : fact.how == PROCESS_END_UNKNOWN);
}

static void a_code_of_a_file_is_not_trusted(void **state)
{
	const struct fact_process_end fact = { .how = PROCESS_END_SIGNAL, .code = UINT64_MAX };
	const struct fact_process_end other = { .how = 77 };
	char text[PROCESS_END_TEXT];

	(void)state;
	assert_non_null(strstr(process_end_text(&fact, text), "no signal"));
	assert_string_equal(process_end_text(&other, text), "ended");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kills_are_counted_in_files_of_both_versions),
		cmocka_unit_test(the_code_of_a_zombie_is_the_last_field),
		cmocka_unit_test(a_signal_is_known_of_a_zombie),
		cmocka_unit_test(once_reaped_it_is_known_or_said_to_be_unknown),
		cmocka_unit_test(a_code_of_a_file_is_not_trusted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
