/* Reads of other processes' memory: what is there is read, and what never comes is given up. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/untrusted/remote_read.h"
#include "tests/unit/child.h"

#define PAGE 4096u
#define NR_PAGES 40u
#define NR_STUCK 30u

/* Pages of a child: bytes that count up, then one that is not there. */
static unsigned char *pages;

static int start(void **state)
{
	(void)state;
	log_set_level(LOG_QUIET);
	pages = mmap(NULL, NR_PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		     0);
	for (size_t i = 0; i < (NR_PAGES - 1) * PAGE; i++)
		pages[i] = (unsigned char)(i % 251);
	munmap(pages + (NR_PAGES - 1) * PAGE, PAGE);
	return remote_read_start();
}

static int end(void **state)
{
	(void)state;
	remote_read_end();
	return 0;
}

/* A process whose first page is handed to userfaultfd(2), or 0 where that is not possible. */
static pid_t stuck_process(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .range = { (uintptr_t)pages, PAGE },
					 .mode = UFFDIO_REGISTER_MODE_MISSING };
	int pipes[2], fd;
	char ok = 0;
	pid_t pid;

	assert_int_equal(pipe(pipes), 0);
	pid = fork();
	if (!pid) {
		fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
		madvise(pages, PAGE, MADV_DONTNEED);
		ok = fd >= 0 && !ioctl(fd, UFFDIO_API, &api) && !ioctl(fd, UFFDIO_REGISTER, &range);
		if (write(pipes[1], &ok, 1) == 1)
			pause();
		_exit(0);
	}
	assert_int_equal(read(pipes[0], &ok, 1), 1);
	close(pipes[0]);
	close(pipes[1]);
	if (ok)
		return pid;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return 0;
}

static pid_t sound_process(void)
{
	pid_t pid = fork();

	if (!pid) {
		pause();
		_exit(0);
	}
	return pid;
}

static void end_process(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void memory_is_read_up_to_the_first_page_that_is_not_there(void **state)
{
	unsigned char *got = malloc(NR_PAGES * PAGE);
	const size_t there = (NR_PAGES - 1) * PAGE;
	pid_t pid = sound_process();

	(void)state;
	assert_int_equal(remote_read(pid, (uintptr_t)pages + 5, got, 1000), 1000);
	assert_memory_equal(got, pages + 5, 1000);
	assert_int_equal(remote_read(pid, (uintptr_t)pages + 7, got, NR_PAGES * PAGE), there - 7);
	assert_memory_equal(got, pages + 7, there - 7);
	assert_int_equal(remote_read(pid, (uintptr_t)pages + there, got, 8), -EFAULT);
	end_process(pid);
	assert_int_equal(remote_read(pid, (uintptr_t)pages, got, 8), -ESRCH);
	free(got);
}

static void file_of_proc_is_read_by_lines(void **state)
{
	char path[64], *theirs = NULL, *ours = NULL;
	size_t their_size = 0, our_size = 0;
	pid_t pid = sound_process();
	FILE *direct, *remote;
	ssize_t n;

	(void)state;
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	direct = fopen(path, "re");
	remote = remote_open(pid, "maps");
	assert_non_null(remote);
	while ((n = getline(&theirs, &their_size, direct)) > 0) {
		assert_int_equal(getline(&ours, &our_size, remote), n);
		assert_string_equal(ours, theirs);
	}
	assert_int_equal(getline(&ours, &our_size, remote), -1);
	fclose(direct);
	fclose(remote);
	end_process(pid);
	assert_null(remote_open(pid, "maps"));
	assert_int_equal(errno, ENOENT);
	free(theirs);
	free(ours);
}

static void files_are_read_at_once(void **state)
{
	char life[512], again[512], environment[512];
	struct buffer b = { 0 };
	pid_t pid = sound_process();

	(void)state;
	assert_int_equal(remote_text(pid, "stat", life, sizeof(life)), 0);
	assert_int_equal(remote_text(pid, "environ", environment, sizeof(environment)), 0);
	remote_files_begin(pid, "stat\nnothing\nenviron\nmaps");
	assert_int_equal(remote_text(pid, "nothing", again, sizeof(again)), -ENOENT);
	assert_int_equal(remote_text(pid, "environ", again, sizeof(again)), 0);
	assert_string_equal(again, environment);
	assert_int_equal(remote_file(pid, "maps", 1 << 20, &b), 0);
	assert_non_null(strstr(buffer_cstring(&b), "/test_remote_read"));
	buffer_fini(&b);
	end_process(pid);
	assert_int_equal(remote_text(pid, "stat", again, sizeof(again)), 0);
	again[strcspn(again, ")")] = life[strcspn(life, ")")] = '\0'; /* the rest may change */
	assert_string_equal(again, life);
	assert_int_equal(remote_text(pid, "status", again, sizeof(again)), -ENOENT);
	assert_int_equal(remote_text(getpid(), "stat", again, sizeof(again)), 0);
	assert_true(strncmp(again, life, strlen(life)) != 0);
	remote_files_end();
	assert_int_equal(remote_text(pid, "stat", again, sizeof(again)), -ENOENT);
}

/* The memory has more mappings than an answer has room for. */
static void file_that_does_not_fit_is_read_alone(void **state)
{
	const size_t nr = 2000;
	char *at = mmap(NULL, 2 * nr * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char text[64], *line = NULL;
	size_t size = 0, nr_lines = 0;
	pid_t pid;
	FILE *f;

	(void)state;
	assert_true(at != MAP_FAILED);
	for (size_t i = 0; i < nr; i++)
		assert_int_equal(mprotect(at + 2 * i * PAGE, PAGE, PROT_READ), 0);
	pid = sound_process();
	munmap(at, 2 * nr * PAGE);
	remote_files_begin(pid, "maps\ncomm");
	f = remote_open(pid, "maps");
	assert_non_null(f);
	while (getline(&line, &size, f) > 0)
		nr_lines++;
	fclose(f);
	free(line);
	assert_in_range(nr_lines, 2 * nr, 3 * nr);
	assert_int_equal(remote_text(pid, "comm", text, sizeof(text)), 0);
	assert_string_equal(text, "test_remote_rea\n");
	remote_files_end();
	end_process(pid);
}

static void link_of_proc_leads_to_its_file(void **state)
{
	struct stat ours, theirs;
	char name[64] = "map_files/", line[4096] = "";
	pid_t pid;
	FILE *f;
	int fd;

	(void)state;
	f = fopen("/proc/self/maps", "re");
	assert_non_null(f);
	while (!strstr(line, "/test_remote_read"))
		assert_non_null(fgets(line, sizeof(line), f));
	fclose(f);
	assert_int_equal(sscanf(line, "%40[0-9a-f-]", name + strlen(name)), 1);
	pid = sound_process();
	assert_int_equal(stat("/proc/self/exe", &ours), 0);
	fd = remote_open_link(pid, "exe");
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &theirs), 0);
	assert_int_equal(theirs.st_ino, ours.st_ino);
	assert_int_equal(fcntl(fd, F_GETFL) & O_PATH, O_PATH);
	close(fd);
	fd = remote_open_link(pid, name);
	if (fd >= 0) {
		assert_int_equal(fstat(fd, &theirs), 0);
		assert_int_equal(theirs.st_ino, ours.st_ino);
		close(fd);
	} else {
		assert_int_equal(fd, -EPERM); /* only with CAP_CHECKPOINT_RESTORE */
	}
	assert_int_equal(remote_open_link(pid, "map_files/1000-2000"), -ENOENT);
	end_process(pid);
	assert_int_equal(remote_open_link(pid, "exe"), -ENOENT);
}

static void read_that_never_returns_is_given_up(void **state)
{
	pid_t sound = sound_process(), stuck = stuck_process();
	uint64_t from = monotonic_ns(), nr = remote_read_nr_given_up();
	unsigned char got[16];

	(void)state;
	if (!stuck) {
		end_process(sound);
		print_message("[  SKIPPED ] userfaultfd(2) is not allowed\n");
		skip();
	}
	assert_int_equal(remote_read(stuck, (uintptr_t)pages, got, 16), -ETIMEDOUT);
	assert_true(monotonic_ns() - from > 100000000);
	from = monotonic_ns();
	assert_int_equal(remote_read(stuck, (uintptr_t)pages + PAGE, got, 16), -ETIMEDOUT);
	assert_null(remote_open(stuck, "maps"));
	assert_int_equal(errno, ETIMEDOUT);
	assert_int_equal(remote_open_link(stuck, "exe"), -ETIMEDOUT);
	assert_true(monotonic_ns() - from < 100000000);
	assert_int_equal(remote_read_nr_given_up(), nr + 1);
	assert_int_equal(remote_read(sound, (uintptr_t)pages, got, 16), 16);
	end_process(stuck);
	end_process(sound);
}

/* A process like sound_process() with a number that is free; 0 where that is not allowed. */
static pid_t process_with_number(pid_t wanted)
{
	struct clone_args args = {
		.exit_signal = SIGCHLD,
		.set_tid = (uintptr_t)&wanted,
		.set_tid_size = 1,
	};
	long pid = syscall(SYS_clone3, &args, sizeof(args));

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	return pid > 0 ? (pid_t)pid : 0;
}

/* Else a user could have processes of others left out by ending processes of their own. */
static void another_process_with_the_number_of_one_given_up_is_read(void **state)
{
	const struct timespec tick = { .tv_nsec = 20000000 }; /* of the clock of starts: 10 ms */
	pid_t stuck = stuck_process(), other;
	unsigned char got[16];
	FILE *f;

	(void)state;
	if (!stuck)
		skip();
	nanosleep(&tick, NULL);
	assert_int_equal(remote_read(stuck, (uintptr_t)pages, got, 16), -ETIMEDOUT);
	end_process(stuck);
	other = process_with_number(stuck);
	if (!other) {
		print_message("[  SKIPPED ] a process cannot be given a number: %s\n",
			      strerror(errno));
		skip();
	}
	assert_int_equal(other, stuck);
	assert_int_equal(remote_read(other, (uintptr_t)pages, got, 16), 16);
	f = remote_open(other, "maps");
	assert_non_null(f);
	fclose(f);
	end_process(other);
}

/* Their number is about that of the readers, and they take turns. */
static void many_that_never_return_cost_little_more_than_one(void **state)
{
	pid_t sound = sound_process(), stuck[NR_STUCK];
	unsigned char got[16];
	uint64_t from;

	(void)state;
	for (unsigned int i = 0; i < NR_STUCK; i++) {
		stuck[i] = stuck_process();
		if (!stuck[i]) {
			end_process(sound);
			skip();
		}
	}
	from = monotonic_ns();
	for (int round = 0; round < 2; round++)
		for (unsigned int i = 0; i < NR_STUCK; i++) {
			assert_int_equal(remote_read(stuck[i], (uintptr_t)pages, got, 16),
					 -ETIMEDOUT);
			assert_int_equal(remote_read(sound, (uintptr_t)pages, got, 16), 16);
		}
	/* Alone, each would take half a second. */
	assert_true(monotonic_ns() - from < 8000000000);
	for (unsigned int i = 0; i < NR_STUCK; i++)
		end_process(stuck[i]);
	end_process(sound);
}

/* The OOM killer may do that. Neither a signal nor endless waits may come of it. */
static void reads_fail_once_the_process_that_starts_readers_was_killed(void **state)
{
	pid_t starter = child_of(getpid()), sound = sound_process();
	uint64_t nr = remote_read_nr_given_up(), from;
	unsigned char got[16];
	siginfo_t ended;

	(void)state;
	signal(SIGPIPE, SIG_DFL);
	assert_int_equal(remote_read(sound, (uintptr_t)pages, got, 16), 16);
	assert_int_equal(kill(starter, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)starter, &ended, WEXITED | WNOWAIT), 0);
	from = monotonic_ns();
	for (int i = 0; i < 3; i++)
		assert_int_equal(remote_read(sound, (uintptr_t)pages, got, 16), -EBUSY);
	assert_null(remote_open(sound, "maps"));
	assert_int_equal(errno, EBUSY);
	assert_int_equal(remote_open_link(sound, "exe"), -EBUSY);
	assert_true(monotonic_ns() - from < 2000000000);
	assert_int_equal(remote_read_nr_given_up(), nr);
	remote_read_end();
	assert_int_equal(remote_read_start(), 0);
	assert_int_equal(remote_read(sound, (uintptr_t)pages, got, 16), 16);
	end_process(sound);
}

/* Has a child of this process make a check with that process. Returns the child's exit status. */
static int in_child(int (*check)(pid_t pid), pid_t pid)
{
	pid_t child = fork();
	int status = 0;

	if (!child)
		_exit(check(pid));
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* 0, or the number of the step that failed. */
static int read_with_own_readers(pid_t pid)
{
	unsigned char got[16];

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	remote_read_leave();
	if (remote_read_start())
		return 1;
	if (remote_read(pid, (uintptr_t)pages, got, 16) != 16)
		return 2;
	remote_read_end();
	/* As a subreaper, this process would get what was left behind. */
	return waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD ? 0 : 3;
}

static void readers_of_a_child_are_its_own_and_end_before_it(void **state)
{
	pid_t pid = sound_process();
	unsigned char got[16];

	(void)state;
	assert_int_equal(in_child(read_with_own_readers, pid), 0);
	assert_int_equal(remote_read(pid, (uintptr_t)pages, got, 16), 16);
	end_process(pid);
}

static int give_up_with_own_readers(pid_t pid)
{
	unsigned char got[16];

	remote_read_leave();
	if (remote_read_start())
		return 1;
	if (remote_read(pid, (uintptr_t)pages, got, 16) != -ETIMEDOUT)
		return 2;
	remote_read_end();
	return 0;
}

static void a_child_gives_up_what_its_own_readers_wait_for(void **state)
{
	pid_t stuck = stuck_process();
	int failed;

	(void)state;
	if (!stuck) {
		print_message("userfaultfd(2) is not allowed\n");
		skip();
	}
	failed = in_child(give_up_with_own_readers, stuck);
	end_process(stuck);
	assert_int_equal(failed, 0);
}

static int read_nothing(pid_t pid)
{
	unsigned char got[16];
	char text[64];

	remote_read_leave();
	if (remote_open(pid, "maps") || errno != EACCES)
		return 1;
	if (remote_open_file(pid, "root", O_PATH) != -EACCES)
		return 2;
	if (remote_text(pid, "stat", text, sizeof(text)) != -EACCES)
		return 3;
	return remote_read(pid, (uintptr_t)pages, got, 16) == -EACCES ? 0 : 4;
}

/* Becomes an ordinary user, if this one is not. */
static int read_own_process(pid_t unused)
{
	pid_t pid;
	FILE *f;

	(void)unused;
	if (!geteuid() && (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534)))
		return 1;
	prctl(PR_SET_DUMPABLE, 1);
	remote_read_leave();
	pid = sound_process();
	f = remote_open(pid, "maps");
	end_process(pid);
	return f ? 0 : 2;
}

/* Such a process makes its reads itself, and nothing else ends them. */
static void a_child_without_readers_reads_only_an_ordinary_users_own_processes(void **state)
{
	pid_t pid = sound_process();

	(void)state;
	if (!geteuid())
		assert_int_equal(in_child(read_nothing, pid), 0);
	assert_int_equal(in_child(read_own_process, pid), 0);
	end_process(pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_is_read_up_to_the_first_page_that_is_not_there),
		cmocka_unit_test(file_of_proc_is_read_by_lines),
		cmocka_unit_test(files_are_read_at_once),
		cmocka_unit_test(file_that_does_not_fit_is_read_alone),
		cmocka_unit_test(link_of_proc_leads_to_its_file),
		cmocka_unit_test(read_that_never_returns_is_given_up),
		cmocka_unit_test(another_process_with_the_number_of_one_given_up_is_read),
		cmocka_unit_test(readers_of_a_child_are_its_own_and_end_before_it),
		cmocka_unit_test(a_child_gives_up_what_its_own_readers_wait_for),
		cmocka_unit_test(
			a_child_without_readers_reads_only_an_ordinary_users_own_processes),
		cmocka_unit_test(many_that_never_return_cost_little_more_than_one),
		cmocka_unit_test(reads_fail_once_the_process_that_starts_readers_was_killed),
	};

	return cmocka_run_group_tests(tests, start, end);
}
