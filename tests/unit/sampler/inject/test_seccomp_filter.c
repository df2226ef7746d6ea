/*
 * What a seccomp filter says of a call: programs whose answer is known, and random ones compared
 * with the kernel's answer.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler/inject/reason.h"
#include "sampler/inject/seccomp_check.h"
#include "sampler/inject/seccomp_filter.h"
#include "tests/unit/unit.h"

#define ALL_KNOWN 0x3f
#define NR_OF(array) (sizeof(array) / sizeof(*(array)))
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define JUMP(test, k, yes, no) BPF_JUMP(BPF_JMP | (test), k, yes, no)
#define RETURN(k) BPF_STMT(BPF_RET | BPF_K, k)
#define DENY (SECCOMP_RET_ERRNO | EPERM)

static uint32_t action_of(const struct sock_filter *code, size_t nr,
			  const struct seccomp_call *call)
{
	uint32_t action = 0xdead;

	assert_int_equal(seccomp_filter_run(code, nr, call, &action), 0);
	return action;
}

static void the_number_and_the_architecture_decide(void **state)
{
	const struct sock_filter code[] = {
		LOAD(arch),
		JUMP(BPF_JEQ, AUDIT_ARCH_X86_64, 1, 0),
		RETURN(SECCOMP_RET_KILL_PROCESS),
		LOAD(nr),
		JUMP(BPF_JGE, 0x40000000, 0, 1),
		RETURN(SECCOMP_RET_KILL_PROCESS),
		JUMP(BPF_JEQ, SYS_mmap, 0, 1),
		RETURN(SECCOMP_RET_LOG),
		JUMP(BPF_JGT, SYS_mmap, 0, 1),
		RETURN(DENY),
		RETURN(SECCOMP_RET_ALLOW),
	};

	(void)state;
	assert_int_equal(action_of(code, NR_OF(code), &(struct seccomp_call){ SYS_mmap, 0, { 0 } }),
			 SECCOMP_RET_LOG);
	assert_int_equal(action_of(code, NR_OF(code), &(struct seccomp_call){ SYS_read, 0, { 0 } }),
			 SECCOMP_RET_ALLOW);
	assert_int_equal(action_of(code, NR_OF(code), &(struct seccomp_call){ SYS_kill, 0, { 0 } }),
			 DENY);
}

static void both_halves_of_an_argument_are_seen(void **state)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 16 + 8 * 2),
		JUMP(BPF_JEQ, 0x55667788, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 16 + 8 * 2 + 4),
		JUMP(BPF_JEQ, 0x11223344, 0, 1),
		RETURN(SECCOMP_RET_ALLOW),
		RETURN(DENY),
	};
	struct seccomp_call call = { SYS_mmap, ALL_KNOWN, { 0, 0, 0x1122334455667788 } };

	(void)state;
	assert_int_equal(action_of(code, NR_OF(code), &call), SECCOMP_RET_ALLOW);
	call.args[2]++;
	assert_int_equal(action_of(code, NR_OF(code), &call), DENY);
}

static void what_is_not_known_is_followed_both_ways(void **state)
{
	const struct sock_filter asks[] = {
		LOAD(args[0]),
		JUMP(BPF_JSET, 4, 0, 1),
		RETURN(DENY),
		RETURN(SECCOMP_RET_ALLOW),
	};
	const struct sock_filter asks_in_vain[] = {
		LOAD(args[0]),
		JUMP(BPF_JSET, 4, 0, 1),
		RETURN(SECCOMP_RET_LOG),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0),
		JUMP(BPF_JEQ, 0, 0, 1),
		RETURN(SECCOMP_RET_ALLOW),
		RETURN(DENY),
	};
	const struct sock_filter asks_for_the_pc[] = {
		LOAD(instruction_pointer),
		JUMP(BPF_JGT, 0x1000, 1, 0),
		RETURN(SECCOMP_RET_KILL_THREAD),
		RETURN(SECCOMP_RET_ALLOW),
	};
	const struct sock_filter returns_it[] = { LOAD(args[0]), BPF_STMT(BPF_RET | BPF_A, 0) };
	const struct seccomp_call unknown = { SYS_kill, 0, { 0 } };
	uint32_t action;

	(void)state;
	assert_int_equal(action_of(asks, NR_OF(asks), &unknown), DENY);
	assert_int_equal(action_of(asks, NR_OF(asks), &(struct seccomp_call){ SYS_kill, 1, { 3 } }),
			 SECCOMP_RET_ALLOW);
	assert_int_equal(action_of(asks_in_vain, NR_OF(asks_in_vain), &unknown), SECCOMP_RET_LOG);
	assert_int_equal(action_of(asks_for_the_pc, NR_OF(asks_for_the_pc), &unknown),
			 SECCOMP_RET_KILL_THREAD);
	assert_int_equal(seccomp_filter_run(returns_it, NR_OF(returns_it), &unknown, &action),
			 -ENODATA);
}

/* Each of its jumps can go either way: 2^40 paths. */
static void a_program_of_too_many_ways_is_given_up(void **state)
{
	struct sock_filter code[162];
	uint32_t action;
	size_t nr = 0;

	(void)state;
	for (int i = 0; i < 40; i++) {
		code[nr++] = (struct sock_filter)LOAD(args[0]);
		code[nr++] = (struct sock_filter)JUMP(BPF_JSET, 1u << i % 32, 0, 1);
		code[nr++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_IMM, 1);
		code[nr++] = (struct sock_filter)BPF_STMT(BPF_ST, 1);
	}
	code[nr++] = (struct sock_filter)RETURN(SECCOMP_RET_ALLOW);
	assert_int_equal(
		seccomp_filter_run(code, nr, &(struct seccomp_call){ 1, 0, { 0 } }, &action),
		-E2BIG);
}

static void a_program_that_is_none_is_refused(void **state)
{
	const struct sock_filter bad[][2] = {
		/* runs past its end */
		{ BPF_STMT(BPF_LD | BPF_IMM, 1), BPF_STMT(BPF_LD | BPF_IMM, 1) },
		{ BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 64), RETURN(SECCOMP_RET_ALLOW) },
		{ BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 2), RETURN(SECCOMP_RET_ALLOW) },
		{ BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 0), RETURN(SECCOMP_RET_ALLOW) },
		{ BPF_STMT(BPF_ST, 16), RETURN(SECCOMP_RET_ALLOW) },
		{ BPF_STMT(BPF_JMP | BPF_JA, UINT32_MAX), RETURN(SECCOMP_RET_ALLOW) },
		{ BPF_STMT(BPF_JMP | BPF_JA, 1), RETURN(SECCOMP_RET_ALLOW) },
		{ JUMP(BPF_JEQ, 0, 200, 200), RETURN(SECCOMP_RET_ALLOW) },
		{ BPF_STMT(BPF_ALU | BPF_MOD | BPF_K, 3), RETURN(SECCOMP_RET_ALLOW) },
		{ BPF_STMT(BPF_ALU | BPF_LSH | BPF_K, 32), RETURN(SECCOMP_RET_ALLOW) },
		{ BPF_STMT(0xffff, 0), RETURN(SECCOMP_RET_ALLOW) },
	};
	uint32_t action = 7;

	(void)state;
	for (size_t i = 0; i < NR_OF(bad); i++)
		assert_int_equal(seccomp_filter_run(bad[i], 2,
						    &(struct seccomp_call){ 1, 0, { 0 } }, &action),
				 -EINVAL);
	assert_int_equal(
		seccomp_filter_run(bad[0], 0, &(struct seccomp_call){ 1, 0, { 0 } }, &action),
		-EINVAL);
	assert_int_equal(action, 7);
}

static void the_kernel_obeys_the_strictest_of_several(void **state)
{
	static const uint32_t in_order[] = {
		SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_KILL_THREAD, SECCOMP_RET_TRAP,
		SECCOMP_RET_ERRNO,	  SECCOMP_RET_USER_NOTIF,  SECCOMP_RET_TRACE,
		SECCOMP_RET_LOG,	  SECCOMP_RET_ALLOW,
	};

	(void)state;
	for (size_t i = 0; i < NR_OF(in_order); i++) {
		for (size_t j = i; j < NR_OF(in_order); j++) {
			assert_int_equal(seccomp_filter_worse(in_order[i], in_order[j]),
					 in_order[i]);
			assert_int_equal(seccomp_filter_worse(in_order[j], in_order[i]),
					 in_order[i]);
		}
	}
}

/* The reason names the first call that any filter denies. */
static void the_reason_names_the_first_call_that_is_denied(void **state)
{
	struct sock_filter allow[] = { RETURN(SECCOMP_RET_ALLOW) };
	struct sock_filter no_timer[] = {
		LOAD(nr),
		JUMP(BPF_JEQ, SYS_timer_settime, 0, 1),
		RETURN(SECCOMP_RET_KILL_PROCESS),
		JUMP(BPF_JEQ, SYS_munmap, 0, 1),
		RETURN(DENY),
		RETURN(SECCOMP_RET_ALLOW),
	};
	struct sock_filter no_code[] = {
		LOAD(nr),      JUMP(BPF_JEQ, SYS_mprotect, 0, 3),
		LOAD(args[2]), JUMP(BPF_JSET, PROT_EXEC, 0, 1),
		RETURN(DENY),  RETURN(SECCOMP_RET_ALLOW),
	};
	struct sock_filter unclear[] = { LOAD(args[1]), BPF_STMT(BPF_RET | BPF_A, 0) };
	const struct inject_filter filters[] = {
		{ allow, NR_OF(allow) },
		{ no_timer, NR_OF(no_timer) },
		{ no_code, NR_OF(no_code) },
		{ unclear, NR_OF(unclear) },
	};
	struct inject_reason reason;

	(void)state;
	assert_int_equal(inject_seccomp_judge(filters, 1, &reason), 0);
	assert_int_equal(inject_seccomp_judge(filters, 2, &reason), -ENOTSUP);
	assert_non_null(strstr(reason.why, "would end it for timer_settime(2)"));
	assert_int_equal(inject_seccomp_judge(filters, 3, &reason), -ENOTSUP);
	assert_non_null(strstr(reason.why, "denies it mprotect(2)"));
	assert_int_equal(inject_seccomp_judge(filters + 3, 1, &reason), -ENOTSUP);
	assert_non_null(strstr(reason.why, "says of mmap(2)"));
	assert_non_null(strstr(reason.why, "not known beforehand"));
}

#define NOBODYS_CALL 999 /* ENOSYS if it is allowed */
#define NR_PROGRAMS 300

static struct sock_filter random_instruction(size_t left)
{
	static const uint16_t codes[] = {
		BPF_LD | BPF_W | BPF_ABS,
		BPF_LD | BPF_W | BPF_LEN,
		BPF_LDX | BPF_W | BPF_LEN,
		BPF_LD | BPF_IMM,
		BPF_LDX | BPF_IMM,
		BPF_MISC | BPF_TAX,
		BPF_MISC | BPF_TXA,
		BPF_LD | BPF_MEM,
		BPF_LDX | BPF_MEM,
		BPF_ST,
		BPF_STX,
		BPF_ALU | BPF_ADD | BPF_K,
		BPF_ALU | BPF_ADD | BPF_X,
		BPF_ALU | BPF_SUB | BPF_K,
		BPF_ALU | BPF_SUB | BPF_X,
		BPF_ALU | BPF_MUL | BPF_K,
		BPF_ALU | BPF_MUL | BPF_X,
		BPF_ALU | BPF_DIV | BPF_K,
		BPF_ALU | BPF_DIV | BPF_X,
		BPF_ALU | BPF_AND | BPF_K,
		BPF_ALU | BPF_AND | BPF_X,
		BPF_ALU | BPF_OR | BPF_K,
		BPF_ALU | BPF_OR | BPF_X,
		BPF_ALU | BPF_XOR | BPF_K,
		BPF_ALU | BPF_XOR | BPF_X,
		BPF_ALU | BPF_LSH | BPF_K,
		BPF_ALU | BPF_RSH | BPF_K,
		BPF_ALU | BPF_NEG,
		BPF_JMP | BPF_JEQ | BPF_K,
		BPF_JMP | BPF_JEQ | BPF_X,
		BPF_JMP | BPF_JGT | BPF_K,
		BPF_JMP | BPF_JGT | BPF_X,
		BPF_JMP | BPF_JGE | BPF_K,
		BPF_JMP | BPF_JGE | BPF_X,
		BPF_JMP | BPF_JSET | BPF_K,
		BPF_JMP | BPF_JSET | BPF_X,
		BPF_JMP | BPF_JA,
	};
	struct sock_filter i = { codes[(size_t)rand() % NR_OF(codes)], 0, 0, (uint32_t)rand() };

	if (BPF_CLASS(i.code) == BPF_JMP && i.code != (BPF_JMP | BPF_JA)) {
		i.jt = (uint8_t)((size_t)rand() % (left < 6 ? left : 6));
		i.jf = (uint8_t)((size_t)rand() % (left < 6 ? left : 6));
		i.k = rand() % 2 ? i.k : i.k % 64;
	} else if (i.code == (BPF_JMP | BPF_JA)) {
		i.k %= left < 3 ? left : 3;
	} else if (i.code == (BPF_LD | BPF_W | BPF_ABS)) {
		i.k = i.k % 16 * 4;
		if (i.k == 8 || i.k == 12) /* the pc is not known here */
			i.k = 16;
	} else if (BPF_CLASS(i.code) == BPF_ST || BPF_CLASS(i.code) == BPF_STX ||
		   BPF_MODE(i.code) == BPF_MEM) {
		i.k %= 4;
	} else if (BPF_CLASS(i.code) == BPF_ALU && i.code != (BPF_ALU | BPF_NEG)) {
		i.k = i.k % 31 + 1;
	}
	return i;
}

/*
 * All memory is written first, because the kernel rejects programs that read what was not written.
 * At the end A is the errno that denies, 0 to 127.
 */
static size_t random_program(struct sock_filter *code)
{
	size_t nr = 0, body = 5 + (size_t)rand() % 60;

	code[nr++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_IMM, (uint32_t)rand());
	for (uint32_t i = 0; i < 4; i++)
		code[nr++] = (struct sock_filter)BPF_STMT(BPF_ST, i);
	while (body) {
		body--;
		code[nr++] = random_instruction(body + 1);
	}
	code[nr++] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0x7f);
	code[nr++] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_OR | BPF_K, SECCOMP_RET_ERRNO);
	code[nr++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_A, 0);
	return nr;
}

/*
 * Makes the call in a child under the filter, which decides over that call alone. Its errno, or -1:
 * the child was killed.
 */
static int ask_kernel(const struct sock_filter *code, size_t nr, const struct seccomp_call *call)
{
	struct sock_filter whole[128] = {
		LOAD(nr),
		JUMP(BPF_JEQ, NOBODYS_CALL, 1, 0),
		RETURN(SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { (unsigned short)(nr + 3), whole };
	const uint64_t *a = call->args;
	pid_t child;
	int status;

	memcpy(whole + 3, code, nr * sizeof(*code));
	child = fork();
	if (!child) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
			_exit(254);
		_exit(syscall(NOBODYS_CALL, a[0], a[1], a[2], a[3], a[4], a[5]) ? errno : 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) || WTERMSIG(status) == SIGSYS);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void the_kernel_says_the_same_of_random_programs(void **state)
{
	int nr_denied = 0;

	(void)state;
	srand(20240611);
	for (int i = 0; i < NR_PROGRAMS; i++) {
		struct seccomp_call call = { NOBODYS_CALL, ALL_KNOWN, { 0 } };
		struct sock_filter code[96];
		size_t nr = random_program(code);
		uint32_t action;
		int said;

		for (int arg = 0; arg < 6; arg++)
			call.args[arg] = (uint64_t)rand() << 32 ^ (uint64_t)rand() >> rand() % 32;
		action = action_of(code, nr, &call);
		said = ask_kernel(code, nr, &call);
		if (said == 254) {
			print_message("the kernel takes no filter here\n");
			skip();
		}
		if ((action & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_KILL_THREAD)
			assert_int_equal(said, -1);
		else
			assert_int_equal(said, action & SECCOMP_RET_DATA);
		nr_denied += said > 0;
	}
	assert_true(nr_denied > NR_PROGRAMS / 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_number_and_the_architecture_decide),
		cmocka_unit_test(both_halves_of_an_argument_are_seen),
		cmocka_unit_test(what_is_not_known_is_followed_both_ways),
		cmocka_unit_test(a_program_of_too_many_ways_is_given_up),
		cmocka_unit_test(a_program_that_is_none_is_refused),
		cmocka_unit_test(the_kernel_obeys_the_strictest_of_several),
		cmocka_unit_test(the_reason_names_the_first_call_that_is_denied),
		cmocka_unit_test(the_kernel_says_the_same_of_random_programs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
