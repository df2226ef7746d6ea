/*
 * Works and sleeps under a seccomp filter for SECONDS, or until the file named by END_FILE appears:
 *
 *	seccomped KIND SECONDS [PROGRAM ARGUMENTS...]	execs that program instead of working
 *
 *	none	no filter
 *	allow	everything
 *	docker  the default of container engines: a list of allowed calls, two of which depend on
 *	        their arguments; EPERM for the rest
 *	exact	allows what this program and sprof's manual need, kills at anything else
 *	timers	kills at timer_create
 *	timers2	the same, in the second of two filters
 *	other	the same, in a thread that is not the first
 *	write	W^X: EPERM for mprotect with PROT_EXEC
 *	pointer	EPERM for timer_create if its third argument is a certain address
 *	trace	another process decides about munmap
 *	strict	no filter: strict mode
 *
 * Exits with status 1 if a sleep ended early.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"

#define MAX 2048
#define NR_CLONE3 435
#define CLONE_NAMESPACES 0x7e020000u

static struct sock_filter code[MAX];
static unsigned short nr;
static const char *end_file;

static void put(uint16_t what, uint8_t yes, uint8_t no, uint32_t k)
{
	code[nr++] = (struct sock_filter){ what, yes, no, k };
}

static void load(size_t offset)
{
	put(BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)offset);
}

static void end(uint32_t action)
{
	put(BPF_RET | BPF_K, 0, 0, action);
}

static void on_call(uint32_t number, uint32_t action)
{
	put(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, number);
	end(action);
}

static void begin(void)
{
	nr = 0;
	load(offsetof(struct seccomp_data, arch));
	put(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, AUDIT_ARCH_X86_64);
	end(SECCOMP_RET_KILL_PROCESS);
	load(offsetof(struct seccomp_data, nr));
}

static void install(void)
{
	struct sock_fprog program = { nr, code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
		perror("prctl");
		exit(2);
	}
}

/*
 * System calls that Docker's default profile leaves out, up to statx(2); it allows most of the
 * others.
 */
static const uint16_t not_in_docker[] = {
	134, 135, 136, 139, 155, 156, 163, 164, 165, 166, 167, 168, 169, 172, 173,
	174, 175, 176, 177, 178, 179, 180, 212, 227, 237, 238, 239, 246, 248, 249,
	250, 272, 279, 298, 304, 305, 308, 312, 313, 320, 321, 323, 56,
};

static int is_in_docker(uint32_t number)
{
	for (size_t i = 0; i < sizeof(not_in_docker) / sizeof(*not_in_docker); i++) {
		if (not_in_docker[i] == number)
			return 0;
	}
	return number <= 332;
}

static void put_docker(void)
{
	begin();
	for (uint32_t number = 0; number <= 332; number++) {
		if (is_in_docker(number))
			on_call(number, SECCOMP_RET_ALLOW);
	}
	put(BPF_JMP | BPF_JEQ | BPF_K, 0, 5, SYS_personality);
	load(offsetof(struct seccomp_data, args[0]));
	put(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 0);
	put(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, UINT32_MAX);
	end(SECCOMP_RET_ALLOW);
	end(SECCOMP_RET_ERRNO | EPERM);
	put(BPF_JMP | BPF_JEQ | BPF_K, 0, 4, SYS_clone);
	load(offsetof(struct seccomp_data, args[0]));
	put(BPF_JMP | BPF_JSET | BPF_K, 1, 0, CLONE_NAMESPACES);
	end(SECCOMP_RET_ALLOW);
	end(SECCOMP_RET_ERRNO | EPERM);
	on_call(NR_CLONE3, SECCOMP_RET_ERRNO | ENOSYS);
	end(SECCOMP_RET_ERRNO | EPERM);
}

/* docs/attach.md lists what sprof needs; this program itself needs the rest. */
static void put_exact(void)
{
	static const uint16_t needed[] = {
		SYS_mmap,
		SYS_madvise,
		SYS_ppoll,
		SYS_socketpair,
		SYS_recvmsg,
		SYS_mprotect,
		SYS_close,
		SYS_rt_sigaction,
		SYS_timer_create,
		SYS_timer_settime,
		SYS_timer_delete,
		SYS_rt_sigreturn,
		SYS_clock_gettime,
		SYS_getpid,
		SYS_kill,
		SYS_munmap,
		SYS_restart_syscall,
		SYS_clock_nanosleep,
		SYS_nanosleep,
		SYS_access,
		SYS_faccessat,
		SYS_process_vm_readv,
		SYS_exit_group,
		SYS_write,
		SYS_newfstatat,
		SYS_gettid,
		SYS_rt_sigprocmask,
		SYS_arch_prctl,
	};

	begin();
	for (size_t i = 0; i < sizeof(needed) / sizeof(*needed); i++)
		on_call(needed[i], SECCOMP_RET_ALLOW);
	end(SECCOMP_RET_KILL_PROCESS);
}

static void put_one(uint32_t number, uint32_t action)
{
	begin();
	on_call(number, action);
	end(SECCOMP_RET_ALLOW);
}

/* Matches a call whose argument has certain bits or a certain value. */
static void put_argument(uint32_t number, size_t offset, uint16_t test, uint32_t value)
{
	begin();
	put(BPF_JMP | BPF_JEQ | BPF_K, 0, 3, number);
	load(offset);
	put(BPF_JMP | test | BPF_K, 0, 1, value);
	end(SECCOMP_RET_ERRNO | EPERM);
	end(SECCOMP_RET_ALLOW);
}

/* Computes for half of the time; the kernel resumes its sleep with restart_syscall(2). */
static int work(uint64_t seconds)
{
	uint64_t until = monotonic_ns() + seconds * 1000000000, early = 0;

	while (monotonic_ns() < until && !(end_file && !access(end_file, F_OK))) {
		uint64_t turn = monotonic_ns() + 10000000;

		while (monotonic_ns() < turn)
			;
		early += nanosleep(&(struct timespec){ 0, 10000000 }, NULL) != 0;
	}
	if (early)
		fprintf(stderr, "%lu sleeps ended early\n", (unsigned long)early);
	return early != 0;
}

static void *other_thread(void *argument)
{
	install();
	sleep(argument ? 3600 : 0);
	return NULL;
}

static int start_other(void)
{
	pthread_t thread;

	return pthread_create(&thread, NULL, other_thread, &nr);
}

int main(int argc, char **argv)
{
	const char *kind = argc > 2 ? argv[1] : "";
	uint64_t seconds = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;

	end_file = getenv("END_FILE");
	if (!strcmp(kind, "docker")) {
		put_docker();
	} else if (!strcmp(kind, "exact")) {
		put_exact();
	} else if (!strcmp(kind, "allow")) {
		end(SECCOMP_RET_ALLOW);
	} else if (!strncmp(kind, "timers", 6) || !strcmp(kind, "other")) {
		put_one(SYS_timer_create, SECCOMP_RET_KILL_PROCESS);
	} else if (!strcmp(kind, "write")) {
		put_argument(SYS_mprotect, offsetof(struct seccomp_data, args[2]), BPF_JSET,
			     PROT_EXEC);
	} else if (!strcmp(kind, "pointer")) {
		put_argument(SYS_timer_create, offsetof(struct seccomp_data, args[2]), BPF_JEQ,
			     4096);
	} else if (!strcmp(kind, "trace")) {
		put_one(SYS_munmap, SECCOMP_RET_TRACE);
	} else if (!strcmp(kind, "strict")) {
		if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
			return 2;
		for (;;)
			;
	} else if (strcmp(kind, "none") != 0) {
		return 2;
	}
	if (!strcmp(kind, "other"))
		return start_other() ? 2 : work(seconds);
	if (strcmp(kind, "none") != 0)
		install();
	if (!strcmp(kind, "timers2")) {
		put_one(SYS_reboot, SECCOMP_RET_ERRNO | EPERM);
		install();
	}
	if (argc > 3)
		execvp(argv[3], argv + 3);
	return work(seconds);
}
