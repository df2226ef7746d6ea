/*
 * Paths that others chose: inotify reports every open except those with O_PATH, so it proves that
 * what is no regular file was never opened. No path leaves its root, with openat2(2) or without it.
 */
#include "core/rights/safe_open.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/open_watch.h"

#define SIZE_MAX_HERE 4096

static char folder[64];

static char *in_folder(const char *name)
{
	static char path[4][256];
	static unsigned next;
	char *p = path[next++ % 4];

	snprintf(p, sizeof(path[0]), "%s/%s", folder, name);
	return p;
}

static void write_file(const char *name, const char *text)
{
	int fd = open(in_folder(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

/*
 * A tree: root/ with bin/file and links of all kinds, and a file `secret` beside it that no path
 * inside root/ may reach.
 */
static int make_tree(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/safe_open.XXXXXX");
	assert_non_null(mkdtemp(folder));
	assert_int_equal(mkdir(in_folder("root"), 0700), 0);
	assert_int_equal(mkdir(in_folder("root/bin"), 0700), 0);
	write_file("secret", "outside");
	write_file("root/bin/file", "inside");
	assert_int_equal(symlink("../../../../../secret", in_folder("root/bin/up")), 0);
	assert_int_equal(symlink("/bin/file", in_folder("root/absolute")), 0);
	assert_int_equal(symlink("bin", in_folder("root/usr")), 0);
	assert_int_equal(symlink(in_folder("secret"), in_folder("root/host")), 0);
	assert_int_equal(symlink("loop", in_folder("root/loop")), 0);
	return 0;
}

static int remove_tree(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	return system(command);
}

static bool holds(int fd, const char *text)
{
	char read_text[64] = "";

	if (fd < 0)
		return false;
	if (read(fd, read_text, sizeof(read_text) - 1) < 0)
		read_text[0] = '\0';
	close(fd);
	return !strcmp(read_text, text);
}

static void a_regular_file_is_opened(void **state)
{
	(void)state;
	assert_true(holds(safe_open(in_folder("secret"), SIZE_MAX_HERE), "outside"));
	assert_true(holds(safe_open_no_link(in_folder("secret"), SIZE_MAX_HERE), "outside"));
	assert_int_equal(safe_open(in_folder("none"), SIZE_MAX_HERE), -ENOENT);
}

static void a_file_above_the_limit_is_refused(void **state)
{
	(void)state;
	assert_int_equal(safe_open(in_folder("secret"), 6), -EFBIG);
	assert_true(holds(safe_open(in_folder("secret"), 7), "outside"));
}

static void a_fifo_is_refused_and_was_never_opened(void **state)
{
	int outside = open_watch_fifo(in_folder("fifo"));
	int inside = open_watch_fifo(in_folder("root/fifo"));
	int root = open(in_folder("root"), O_PATH | O_CLOEXEC);

	(void)state;
	assert_int_equal(safe_open(in_folder("fifo"), SIZE_MAX_HERE), -EPERM);
	assert_int_equal(safe_open_no_link(in_folder("fifo"), SIZE_MAX_HERE), -EPERM);
	assert_int_equal(safe_open_in_root(root, "fifo", SIZE_MAX_HERE), -EPERM);
	close(root);
	assert_false(open_watch_end(outside, in_folder("fifo")));
	assert_false(open_watch_end(inside, in_folder("root/fifo")));
}

static void devices_and_files_of_the_kernel_are_refused(void **state)
{
	(void)state;
	assert_int_equal(safe_open("/dev/null", SIZE_MAX_HERE), -EPERM);
	assert_int_equal(safe_open("/proc/self/status", SIZE_MAX_HERE), -EPERM);
	assert_int_equal(safe_open("/sys/devices/system/cpu/online", SIZE_MAX_HERE), -EPERM);
	assert_int_equal(safe_open("/tmp", SIZE_MAX_HERE), -EPERM);
}

static void a_link_at_the_end_is_refused_where_links_are(void **state)
{
	int root = open(in_folder("root"), O_PATH | O_CLOEXEC);

	(void)state;
	assert_int_equal(safe_open_no_link(in_folder("root/host"), SIZE_MAX_HERE), -ELOOP);
	assert_true(holds(safe_open(in_folder("root/host"), SIZE_MAX_HERE), "outside"));
	assert_int_equal(safe_open_in_root_no_link(root, "absolute", SIZE_MAX_HERE), -ELOOP);
	assert_true(holds(safe_open_in_root_no_link(root, "usr/file", SIZE_MAX_HERE), "inside"));
	close(root);
}

static void a_map_file_of_a_deleted_file_is_opened(void **state)
{
	char path[64];
	int fd = open(in_folder("deleted"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	(void)state;
	assert_int_equal(write(fd, "gone", 4), 4);
	unlink(in_folder("deleted"));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_true(holds(safe_open(path, SIZE_MAX_HERE), "gone"));
	close(fd);
}

/* A blocking open would wait for the holder of the lease, for up to 45 s. */
static void a_leased_file_is_refused_at_once(void **state)
{
	int ready[2], end[2], result;
	char byte = 0;
	pid_t child;

	(void)state;
	write_file("leased", "text");
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	assert_int_equal(pipe2(end, O_CLOEXEC), 0);
	child = fork();
	if (!child) {
		int fd = open(in_folder("leased"), O_RDWR | O_CLOEXEC);

		close(end[1]);
		signal(SIGIO, SIG_IGN);
		byte = !fcntl(fd, F_SETLEASE, F_WRLCK);
		if (write(ready[1], &byte, 1) == 1 && read(end[0], &byte, 1) < 0)
			_exit(1);
		_exit(0);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	result = safe_open(in_folder("leased"), SIZE_MAX_HERE);
	close(end[1]);
	waitpid(child, NULL, 0);
	close(end[0]);
	close(ready[0]);
	close(ready[1]);
	if (!byte)
		skip(); /* a file system without leases */
	assert_int_equal(result, -EAGAIN);
}

/* All that must hold inside a root; returns the number of the first line that does not. */
static int check_root(void)
{
	int root = open(in_folder("root"), O_PATH | O_CLOEXEC);
	char deep[4000] = "", link[64];

	if (!holds(safe_open_in_root(root, "bin/file", SIZE_MAX_HERE), "inside"))
		return __LINE__;
	if (!holds(safe_open_in_root(root, "/bin/file", SIZE_MAX_HERE), "inside"))
		return __LINE__;
	if (!holds(safe_open_in_root(root, "//usr/./../bin//file", SIZE_MAX_HERE), "inside"))
		return __LINE__;
	if (!holds(safe_open_in_root(root, "absolute", SIZE_MAX_HERE), "inside"))
		return __LINE__;
	if (!holds(safe_open_in_root(root, "../../bin/file", SIZE_MAX_HERE), "inside"))
		return __LINE__;
	if (safe_open_in_root(root, "bin/up", SIZE_MAX_HERE) != -ENOENT)
		return __LINE__;
	if (safe_open_in_root(root, "host", SIZE_MAX_HERE) != -ENOENT)
		return __LINE__;
	if (safe_open_in_root(root, "../secret", SIZE_MAX_HERE) != -ENOENT)
		return __LINE__;
	if (safe_open_in_root(root, "loop", SIZE_MAX_HERE) != -ELOOP)
		return __LINE__;
	if (safe_open_in_root_no_link(root, "absolute", SIZE_MAX_HERE) != -ELOOP)
		return __LINE__;
	if (safe_open_in_root(root, "bin/file/x", SIZE_MAX_HERE) != -ENOTDIR)
		return __LINE__;
	if (safe_open_in_root(root, "/", SIZE_MAX_HERE) >= 0)
		return __LINE__;
	for (int i = 0; i < 900; i++)
		strcat(deep, "bin/");
	if (safe_open_in_root(root, deep, SIZE_MAX_HERE) >= 0)
		return __LINE__;
	snprintf(link, sizeof(link), "proc/%d/root/etc/passwd", (int)getpid());
	if (safe_open_in_root(root, link, SIZE_MAX_HERE) >= 0)
		return __LINE__;
	close(root);
	return 0;
}

/* Has every later openat2(2) of this process fail as filters of container engines do. */
static bool refuse_openat2(unsigned error)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int check_root_without_openat2(unsigned error)
{
	int status = 0, root;
	pid_t child = fork();

	if (child) {
		assert_int_equal(waitpid(child, &status, 0), child);
		return WIFEXITED(status) ? WEXITSTATUS(status) : 256;
	}
	if (!refuse_openat2(error))
		_exit(77);
	root = check_root();
	/* An exit status has 8 bits: the distance to the first check tells the line. */
	_exit(root ? 100 + root % 100 : 0);
}

static void no_path_leaves_its_root(void **state)
{
	(void)state;
	assert_int_equal(check_root(), 0);
}

static void no_path_leaves_its_root_without_openat2(void **state)
{
	int status = check_root_without_openat2(ENOSYS);

	(void)state;
	if (status == 77)
		skip(); /* filters are not allowed here */
	assert_int_equal(status, 0);
	assert_int_equal(check_root_without_openat2(EPERM), 0);
}

static int nr_open(void)
{
	int nr = 0;

	for (int fd = 0; fd < 256; fd++)
		nr += fcntl(fd, F_GETFD) >= 0;
	return nr;
}

static void no_descriptor_is_left_open(void **state)
{
	int before = nr_open();

	(void)state;
	assert_int_equal(check_root(), 0);
	assert_int_equal(nr_open(), before);
}

static void the_root_of_a_process_is_where_its_paths_begin(void **state)
{
	int root = safe_open_root_of(getpid()), fd;

	(void)state;
	assert_true(root >= 0);
	fd = safe_open_in_root(root, in_folder("secret"), SIZE_MAX_HERE);
	close(root);
	assert_true(holds(fd, "outside"));
	assert_int_equal(safe_open_root_of(0x7fffffff), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_regular_file_is_opened),
		cmocka_unit_test(a_file_above_the_limit_is_refused),
		cmocka_unit_test(a_fifo_is_refused_and_was_never_opened),
		cmocka_unit_test(devices_and_files_of_the_kernel_are_refused),
		cmocka_unit_test(a_link_at_the_end_is_refused_where_links_are),
		cmocka_unit_test(a_map_file_of_a_deleted_file_is_opened),
		cmocka_unit_test(a_leased_file_is_refused_at_once),
		cmocka_unit_test(no_path_leaves_its_root),
		cmocka_unit_test(no_path_leaves_its_root_without_openat2),
		cmocka_unit_test(no_descriptor_is_left_open),
		cmocka_unit_test(the_root_of_a_process_is_where_its_paths_begin),
	};

	return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
