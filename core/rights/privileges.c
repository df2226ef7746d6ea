/*
 * Rights are borrowed if the kernel marked the program as more privileged than its caller at exec
 * (AT_SECURE). Capabilities belong to a thread: the permitted ones are what it may turn on, and the
 * effective ones are what counts. Borrowed capabilities stay permitted and become effective only
 * between two calls of privileges_use(). A setuid program is turned into this form: it takes the
 * caller's ids and keeps capabilities.
 */
#include "core/rights/privileges.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/rights/seccomp.h"

/* Capabilities that any source uses, from its probe on. */
#define PRIVILEGES_TO_SAMPLE                                                                       \
	(PRIVILEGES_TO_FOLLOW | PRIVILEGE(CAP_BPF) | PRIVILEGE(CAP_PERFMON) |                      \
	 PRIVILEGE(CAP_SYS_ADMIN) | PRIVILEGE(CAP_SYS_RESOURCE))

/* Capabilities with which root opens files of other users and reads addresses in /proc/kallsyms. */
#define PRIVILEGES_TO_READ                                                                         \
	(PRIVILEGE(CAP_DAC_OVERRIDE) | PRIVILEGE(CAP_DAC_READ_SEARCH) | PRIVILEGE(CAP_SYSLOG))

#define OPEN_LIMIT_NS 1000000000u /* for opening a file in /proc */

struct capabilities {
	uint64_t permitted, effective;
};

static int get(struct capabilities *ret)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = {};

	if (syscall(SYS_capget, &header, data))
		return -errno;
	ret->permitted = (uint64_t)data[1].permitted << 32 | data[0].permitted;
	ret->effective = (uint64_t)data[1].effective << 32 | data[0].effective;
	return 0;
}

/* Capabilities are not inheritable: programs that sprof starts get none. */
static int set(const struct capabilities *c)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	for (int i = 0; i < 2; i++)
		data[i] = (struct __user_cap_data_struct){
			.permitted = (uint32_t)(c->permitted >> 32 * i),
			.effective = (uint32_t)(c->effective >> 32 * i),
		};
	return syscall(SYS_capset, &header, data) ? -errno : 0;
}

/*
 * Without CAP_SYS_PTRACE, as in a container, the kernel lets us look only into processes that have
 * no capability that we lack. Root that gave one up could not sample root's processes.
 */
static bool needs_all(const struct capabilities *c, uint64_t kept)
{
	return kept & PRIVILEGE(CAP_SYS_PTRACE) && !(c->permitted & PRIVILEGE(CAP_SYS_PTRACE)) &&
	       !privileges_are_borrowed();
}

static int keep(uint64_t kept)
{
	struct capabilities c;
	int err = get(&c);

	if (err)
		return err;
	if (needs_all(&c, kept))
		return 0;
	c.permitted &= kept;
	c.effective &= kept;
	return set(&c);
}

bool privileges_are_borrowed(void)
{
	return getauxval(AT_SECURE) && getuid();
}

/* Permitted capabilities survive the change of ids; effective ones do not. */
static int become_caller(void)
{
	uid_t uid = getuid();
	gid_t gid = getgid();

	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) || setresgid(gid, gid, gid) ||
	    setresuid(uid, uid, uid) || prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0))
		return -errno;
	return 0;
}

void privileges_begin(void)
{
	struct capabilities c;
	int err;

	if (!privileges_are_borrowed())
		return;
	err = become_caller();
	err = err ? err : get(&c);
	if (!err) {
		c.permitted &= PRIVILEGES_TO_SAMPLE;
		c.effective = 0;
		err = set(&c);
	}
	if (!err)
		return;
	log_error(-err, "give up the rights of its file");
	exit(EXIT_FAILURE);
}

enum rights privileges_use(enum rights rights)
{
	int saved = errno;
	enum rights before;
	struct capabilities c;

	if (!privileges_are_borrowed())
		return RIGHTS_OF_CALLER;
	/* To go on with more rights than were asked for would be worse than to end. */
	if (get(&c))
		abort();
	before = c.effective ? RIGHTS_BORROWED : RIGHTS_OF_CALLER;
	c.effective = rights == RIGHTS_BORROWED ? c.permitted : 0;
	if (set(&c))
		abort();
	errno = saved;
	return before;
}

bool privileges_have(int capability)
{
	struct capabilities c;

	return !get(&c) && c.effective & PRIVILEGE(capability);
}

uint64_t privileges_of_caller(void)
{
	struct capabilities c;

	return privileges_are_borrowed() || get(&c) ? 0 : c.effective;
}

void privileges_reduce(uint64_t kept)
{
	if (keep(kept))
		log_debug("capabilities could not be dropped");
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

void privileges_drop(void)
{
	privileges_reduce(0);
}

void privileges_only_read(void)
{
	int err;

	privileges_reduce(privileges_are_borrowed() ? 0 : PRIVILEGES_TO_READ);
	err = seccomp_allow_reading();
	if (err && err != -ENOSYS)
		log_debug("system calls could not be taken away: %s", strerror(-err));
}

/*
 * Opening this file makes the kernel check the right to read the process's memory. The open waits
 * until an exec(2) of the process is over, which the process can put off for ever, so a child makes
 * it, with system calls only, as this process may have threads.
 */
static bool can_open_maps(pid_t pid)
{
	const struct timespec pause = { 0, 500000 };
	uint64_t until = monotonic_ns() + OPEN_LIMIT_NS;
	pid_t own = getpid(), child, ended;
	int status = 1;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(getppid() == own && open(path, O_RDONLY | O_CLOEXEC) >= 0 ? 0 : 1);
	}
	if (child < 0)
		return false;
	while (!(ended = waitpid(child, &status, WNOHANG)) && monotonic_ns() < until)
		nanosleep(&pause, NULL);
	if (!ended) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	return ended == child && !status;
}

bool privileges_caller_may_read(pid_t pid)
{
	enum rights before;
	struct stat st;
	char path[32];
	bool may;

	if (!getuid())
		return true;
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	before = privileges_use(RIGHTS_OF_CALLER);
	may = !stat(path, &st) && st.st_uid == getuid() && can_open_maps(pid);
	privileges_use(before);
	return may;
}

bool privileges_caller_may_ask_for_all(void)
{
	struct stat st;

	if (!privileges_are_borrowed())
		return true;
	return !stat("/proc/self/exe", &st) && !(st.st_mode & S_IXOTH);
}
