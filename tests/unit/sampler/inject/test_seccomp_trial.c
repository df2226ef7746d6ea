/*
 * What a trial says of the seccomp filter of the process that makes it. Each test puts a child
 * under a filter, because a process cannot get rid of one.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler/inject/reason.h"
#include "sampler/inject/seccomp_trial.h"
#include "sampler/inject/x86_64/seccomp_calls.h"
#include "tests/unit/unit.h"

#define NR_PIDFD_GETFD 438
#define DENY (SECCOMP_RET_ERRNO | EPERM)

struct answer {
	struct inject_reason reason;
	int err;
};

/* A filter that returns this action for one call, or for two. */
struct rule {
	uint32_t number, other, action;
};

static int install(const struct rule *rule)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, rule->number, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, rule->other, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, rule->action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(*code), code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static void try_under(const struct rule *rule, struct answer *ret)
{
	struct answer *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child;
	int status;

	assert_true(shared != MAP_FAILED);
	child = fork();
	if (!child) {
		if (install(rule))
			_exit(2);
		shared->err = inject_seccomp_try(&shared->reason);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	*ret = *shared;
	munmap(shared, sizeof(*shared));
}

static void refused(const struct rule *rule, const char *why)
{
	struct answer answer;

	try_under(rule, &answer);
	assert_int_equal(answer.err, -ENOTSUP);
	if (!strstr(answer.reason.why, why))
		fail_msg("'%s' does not say '%s'", answer.reason.why, why);
}

static void a_filter_that_concerns_no_call_of_ours_is_no_obstacle(void **state)
{
	struct answer answer;

	(void)state;
	try_under(&(struct rule){ SYS_reboot, SYS_bpf, DENY }, &answer);
	if (answer.err)
		fail_msg("%s", answer.reason.why);
}

/*
 * What the C library or the trial itself makes before, so that not the call of the table is the
 * first to fail.
 */
static bool is_needed_by_the_trial(uint32_t number)
{
	return number == SYS_mmap || number == SYS_munmap || number == SYS_rt_sigaction ||
	       number == SYS_rt_sigprocmask || number == SYS_getpid || number == SYS_gettid;
}

/* A filter of this kind for any one of our calls is noticed, and the call is named. */
static void every_call_is_tried(void **state)
{
	char why[128];

	(void)state;
	for (size_t i = 0; i < inject_nr_known_calls; i++) {
		const struct inject_known_call *known = &inject_known_calls[i];
		uint32_t number = known->call.number;

		if (known->need == CALL_BY_NAME || number == SYS_rt_sigreturn ||
		    is_needed_by_the_trial(number))
			continue;
		snprintf(why, sizeof(why), "would end it for %s(2)", known->name);
		refused(&(struct rule){ number, number, SECCOMP_RET_KILL_PROCESS }, why);
		if (known->need == CALL_OPTIONAL)
			continue;
		snprintf(why, sizeof(why), "denies it %s(2)", known->name);
		refused(&(struct rule){ number, number, DENY }, why);
	}
}

static void the_end_of_a_signal_handler_is_tried(void **state)
{
	(void)state;
	refused(&(struct rule){ SYS_rt_sigreturn, SYS_reboot, SECCOMP_RET_KILL_PROCESS },
		"would end it for rt_sigreturn(2)");
	refused(&(struct rule){ SYS_rt_sigreturn, SYS_reboot, DENY },
		"would end it for rt_sigreturn(2)");
}

static void names_are_needed_only_where_no_descriptor_can_be_taken(void **state)
{
	int self = (int)syscall(SYS_pidfd_open, getpid(), 0);
	int fd = (int)syscall(NR_PIDFD_GETFD, self, self, 0);
	struct answer answer;

	(void)state;
	close(self);
	if (fd < 0) {
		print_message("[  SKIPPED ] pidfd_getfd(2) is refused here\n");
		skip();
	}
	close(fd);
	try_under(&(struct rule){ SYS_connect, SYS_bind, DENY }, &answer);
	assert_int_equal(answer.err, 0);
	try_under(&(struct rule){ NR_PIDFD_GETFD, SYS_reboot, DENY }, &answer);
	assert_int_equal(answer.err, 0);
	refused(&(struct rule){ NR_PIDFD_GETFD, SYS_connect, DENY }, "denies it connect(2)");
	refused(&(struct rule){ NR_PIDFD_GETFD, SYS_bind, DENY }, "denies it bind(2)");
}

static void what_the_trial_itself_needs_is_refused_too(void **state)
{
	struct answer answer;

	(void)state;
	try_under(&(struct rule){ SYS_getpid, SYS_getpid, DENY }, &answer);
	assert_int_equal(answer.err, -ENOTSUP);
	try_under(&(struct rule){ SYS_mmap, SYS_munmap, DENY }, &answer);
	assert_int_not_equal(answer.err, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_filter_that_concerns_no_call_of_ours_is_no_obstacle),
		cmocka_unit_test(every_call_is_tried),
		cmocka_unit_test(what_the_trial_itself_needs_is_refused_too),
		cmocka_unit_test(the_end_of_a_signal_handler_is_tried),
		cmocka_unit_test(names_are_needed_only_where_no_descriptor_can_be_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
