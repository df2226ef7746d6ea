/*
 * Each wait has a limit, and all waits without an answer share an allowance, so that a hundred
 * hostile processes cost hardly more than one. A reader that runs or waits for a CPU is not stuck:
 * on a busy machine it gets the time that it needs.
 */
#include "core/untrusted/remote_read.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/base/clock.h"
#include "core/base/full_io.h"
#include "core/base/log.h"
#include "core/base/proc_status.h"
#include "core/untrusted/given_up.h"
#include "core/untrusted/remote_reader.h"
#include "core/untrusted/shared_memory.h"

#define LIMIT_NS (500 * NS_PER_MS)	/* of one read */
#define SHORT_LIMIT_NS (10 * NS_PER_MS) /* once the allowance is used up */
#define LONGEST_NS (5000 * NS_PER_MS)	/* of a read whose reader got no CPU */
#define LOOK_NS (10 * NS_PER_MS)
#define ALLOWANCE_NS (2000 * NS_PER_MS) /* most time for waits without an answer; */
#define ALLOWANCE_SHARE 10		/* it grows by a tenth of the elapsed time */
#define END_MS 1000			/* for the starter to end */
#define NONE UINT32_MAX

/* Global, like the child processes that it describes. */
static struct {
	pthread_mutex_t lock;
	struct remote_slot *slots; /* NULL: there are no readers */
	bool has_left;		   /* there are none, as they were the parent's */
	pid_t starter;
	bool have_ended; /* the starter was killed, and the readers with it */
	int commands, files;
	uint64_t nr_opens; /* opens that were requested */
	uint32_t slot;	   /* the slot in use, or NONE */
	uint64_t allowance_ns, allowed_at_ns;
	/* from remote_files_begin() to _end() */
	pid_t ahead_of; /* 0: none */
	char ahead_names[REMOTE_NAME];
	struct buffer ahead; /* as REMOTE_FILES answers */
} readers = { .lock = PTHREAD_MUTEX_INITIALIZER, .commands = -1, .files = -1, .slot = NONE };

int remote_read_start(void)
{
	const size_t size = REMOTE_READERS * sizeof(struct remote_slot);
	void *at = shared_memory_of_children(size);
	pid_t pid;

	if (!at)
		return -errno;
	pid = remote_starter_fork(at, &readers.commands, &readers.files);
	if (pid < 0) {
		munmap(at, size);
		return (int)pid;
	}
	readers.slots = at;
	readers.has_left = false;
	readers.starter = pid;
	readers.have_ended = false;
	readers.slot = NONE;
	readers.allowance_ns = ALLOWANCE_NS;
	readers.allowed_at_ns = monotonic_ns();
	return 0;
}

void remote_read_leave(void)
{
	readers.has_left = true;
	if (!readers.slots)
		return;
	/* Another thread of the parent may have held the lock, and changed what it protects. */
	pthread_mutex_init(&readers.lock, NULL);
	readers.ahead = (struct buffer){ 0 };
	readers.ahead_of = 0;
	given_up_forget();
	close(readers.commands);
	close(readers.files);
	munmap(readers.slots, REMOTE_READERS * sizeof(struct remote_slot));
	readers.slots = NULL;
}

static bool command(uint32_t slot)
{
	uint8_t byte = (uint8_t)slot;

	return !full_write_pipe(readers.commands, &byte, 1);
}

/* Has the starter end, which waits for its readers. */
static void end_starter(void)
{
	const struct timespec pause = { .tv_nsec = NS_PER_MS };
	pid_t ended = waitpid(readers.starter, NULL, WNOHANG);

	if (!ended)
		command(REMOTE_END);
	for (int i = 0; !ended && i < END_MS; i++) {
		nanosleep(&pause, NULL);
		ended = waitpid(readers.starter, NULL, WNOHANG);
	}
	if (ended)
		return;
	kill(readers.starter, SIGKILL); /* the readers die with it */
	waitpid(readers.starter, NULL, 0);
}

void remote_read_end(void)
{
	if (!readers.slots)
		return;
	end_starter();
	close(readers.commands);
	close(readers.files);
	munmap(readers.slots, REMOTE_READERS * sizeof(struct remote_slot));
	buffer_fini(&readers.ahead);
	readers.ahead_of = 0;
	readers.slots = NULL;
	given_up_end();
}

uint64_t remote_read_nr_given_up(void)
{
	return given_up_count();
}

static uint64_t limit_ns(void)
{
	uint64_t now = monotonic_ns();

	readers.allowance_ns += (now - readers.allowed_at_ns) / ALLOWANCE_SHARE;
	if (readers.allowance_ns > ALLOWANCE_NS)
		readers.allowance_ns = ALLOWANCE_NS;
	readers.allowed_at_ns = now;
	return readers.allowance_ns < SHORT_LIMIT_NS ? SHORT_LIMIT_NS
	       : readers.allowance_ns < LIMIT_NS     ? readers.allowance_ns
						     : LIMIT_NS;
}

/* Was the starter killed, as for lack of memory? Says so once. remote_read_end() waits for it. */
static bool have_ended(void)
{
	siginfo_t ended = { 0 };

	if (readers.have_ended)
		return true;
	if (!waitid(P_PID, (id_t)readers.starter, &ended, WEXITED | WNOHANG | WNOWAIT) &&
	    !ended.si_pid)
		return false;
	readers.have_ended = true;
	log_warning("the process that reads others has ended: from now on names and stacks are "
		    "missing, and processes that begin may not be sampled");
	log_hint("end sprof and start it again");
	return true;
}

/* Has a new reader started. Returns false if all readers are stuck, or there can be none. */
static bool start_reader(void)
{
	if (have_ended() || !command(REMOTE_READERS))
		return false;
	for (uint32_t i = 0; i < REMOTE_READERS; i++) {
		struct remote_slot *s = &readers.slots[i];

		if (__atomic_load_n(&s->alive, __ATOMIC_ACQUIRE))
			continue;
		s->turn = 0;
		s->reader = 0;
		s->alive = 1; /* the starter may clear it */
		if (!command(i))
			return false;
		readers.slot = i;
		return true;
	}
	return false;
}

/* Does the reader sleep, as in a page fault? One that has not been started yet does not. */
static bool sleeps(const struct remote_slot *s)
{
	char text[512], *end;

	proc_text(text, sizeof(text), "/proc/%d/stat",
		  (int)__atomic_load_n(&s->reader, __ATOMIC_ACQUIRE));
	end = strrchr(text, ')');
	return !end || strncmp(end, ") R", 3) != 0;
}

/* Waits for the answer. Returns false if the reader did not answer in time. */
static bool await(struct remote_slot *s, uint32_t turn, uint64_t *ret_waited_ns)
{
	uint64_t limit = limit_ns(), from = monotonic_ns(), waited = 0;

	while (__atomic_load_n(&s->turn, __ATOMIC_ACQUIRE) == turn) {
		waited = monotonic_ns() - from;
		if (!__atomic_load_n(&s->alive, __ATOMIC_ACQUIRE) || waited > LONGEST_NS ||
		    (waited > LOOK_NS && have_ended()))
			break;
		if (waited > limit && __atomic_load_n(&s->reader, __ATOMIC_ACQUIRE) && sleeps(s))
			break;
		remote_futex_wait(&s->turn, turn, LOOK_NS);
	}
	*ret_waited_ns = waited;
	return __atomic_load_n(&s->turn, __ATOMIC_ACQUIRE) != turn;
}

/* Kills a stuck reader, which ends at once or when its read returns, and gives up its target. */
static void leave_behind(struct remote_slot *s, pid_t target, uint64_t waited_ns)
{
	pid_t reader = __atomic_load_n(&s->reader, __ATOMIC_ACQUIRE);

	if (reader > 0)
		kill(reader, SIGKILL);
	readers.slot = NONE;
	readers.allowance_ns -= waited_ns < readers.allowance_ns ? waited_ns : readers.allowance_ns;
	given_up_add(target, waited_ns);
}

/* Has the reader make a read. Returns its result, whose bytes lie in the slot. */
static int64_t ask(enum remote_request request, pid_t pid, uint64_t address, size_t size,
		   const char *name)
{
	struct remote_slot *s;
	uint64_t waited_ns;
	uint32_t turn;

	if (given_up_has(pid))
		return -ETIMEDOUT;
	if (readers.slot == NONE && !start_reader())
		return -EBUSY;
	s = &readers.slots[readers.slot];
	s->request = request;
	s->target = pid;
	s->address = address;
	s->size = (uint32_t)size;
	snprintf(s->name, sizeof(s->name), "%s", name);
	turn = s->turn + 1;
	__atomic_store_n(&s->turn, turn, __ATOMIC_RELEASE);
	remote_futex_wake(&s->turn);
	if (await(s, turn, &waited_ns))
		return s->result;
	/* That is not the target's fault, and the dead reader's number may be another's by now. */
	if (have_ended()) {
		readers.slot = NONE;
		return -EBUSY;
	}
	leave_behind(s, pid, waited_ns);
	return -ETIMEDOUT;
}

/*
 * After this process has left its parent's readers, a read of a hostile process would hold it up.
 * It reads only processes of its own user, who harms no one else with that. Those of user 0 may be
 * in anyone's container.
 */
static bool may_read(pid_t pid)
{
	char path[32];
	struct stat st;

	if (!readers.has_left)
		return true;
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	return geteuid() && !stat(path, &st) && st.st_uid == geteuid();
}

ssize_t remote_read(pid_t pid, uint64_t address, void *to, size_t size)
{
	size_t got = 0;
	int64_t n = 0;

	if (!may_read(pid))
		return -EACCES;
	pthread_mutex_lock(&readers.lock);
	while (got < size) {
		size_t part = size - got < REMOTE_DATA ? size - got : REMOTE_DATA;

		if (!readers.slots)
			n = remote_read_memory(pid, address + got, (char *)to + got, part);
		else
			n = ask(REMOTE_MEMORY, pid, address + got, part, "");
		if (n <= 0)
			break;
		if (readers.slots)
			memcpy((char *)to + got, readers.slots[readers.slot].data, (size_t)n);
		got += (size_t)n;
		if ((size_t)n < part)
			break;
	}
	pthread_mutex_unlock(&readers.lock);
	return got ? (ssize_t)got : (ssize_t)n;
}

void remote_files_begin(pid_t pid, const char *names)
{
	int64_t n;

	pthread_mutex_lock(&readers.lock);
	readers.ahead_of = 0;
	readers.ahead.size = 0;
	n = readers.slots ? ask(REMOTE_FILES, pid, 0, 0, names) : 0;
	if (n > 0 && n <= (int64_t)REMOTE_DATA) {
		buffer_add(&readers.ahead, readers.slots[readers.slot].data, (size_t)n);
		snprintf(readers.ahead_names, sizeof(readers.ahead_names), "%s", names);
		readers.ahead_of = pid;
	}
	pthread_mutex_unlock(&readers.lock);
}

void remote_files_end(void)
{
	pthread_mutex_lock(&readers.lock);
	readers.ahead_of = 0;
	pthread_mutex_unlock(&readers.lock);
}

/* Is it one of the files that were read at once? *ret_size: its size or -errno. */
static bool find_ahead(pid_t pid, const char *name, const char **ret_data, int32_t *ret_size)
{
	const char *at = readers.ahead.data, *end = at + readers.ahead.size;
	char names[REMOTE_NAME], *rest = names, *candidate;

	if (!readers.ahead_of || readers.ahead_of != pid)
		return false;
	memcpy(names, readers.ahead_names, sizeof(names));
	while ((candidate = strsep(&rest, "\n")) && end - at >= (ptrdiff_t)sizeof(*ret_size)) {
		memcpy(ret_size, at, sizeof(*ret_size));
		at += sizeof(*ret_size);
		if (*ret_size > end - at)
			return false;
		*ret_data = at;
		if (!strcmp(candidate, name))
			return *ret_size != -EFBIG;
		at += *ret_size > 0 ? *ret_size : 0;
	}
	return false;
}

static int read_file(pid_t pid, const char *name, size_t limit, struct buffer *b)
{
	enum remote_request request = REMOTE_FILE;
	const char *data;
	int32_t size;
	int64_t n;

	pthread_mutex_lock(&readers.lock);
	if (find_ahead(pid, name, &data, &size)) {
		if (size > 0)
			buffer_add(b, data, (size_t)size);
		pthread_mutex_unlock(&readers.lock);
		return size < 0 ? size : 0;
	}
	while ((n = ask(request, pid, 0, 0, name)) > 0 && b->size < limit) {
		buffer_add(b, readers.slots[readers.slot].data, (size_t)n);
		if (n < (int64_t)REMOTE_DATA) /* the end of the file: saves another request */
			break;
		request = REMOTE_FILE_MORE;
	}
	pthread_mutex_unlock(&readers.lock);
	return n < 0 ? (int)n : 0;
}

int remote_open_file(pid_t pid, const char *name, int flags)
{
	char path[80];
	int64_t err;
	int fd;

	if (!may_read(pid))
		return -EACCES;
	if (!readers.slots) {
		snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
		fd = open(path, flags | O_CLOEXEC);
		return fd < 0 ? -errno : fd;
	}
	pthread_mutex_lock(&readers.lock);
	err = ask(REMOTE_OPEN, pid, ++readers.nr_opens, (size_t)flags, name);
	fd = err ? (int)err : remote_file_take(readers.files, readers.nr_opens);
	pthread_mutex_unlock(&readers.lock);
	return fd;
}

int remote_file(pid_t pid, const char *name, size_t limit, struct buffer *to)
{
	char path[80];
	FILE *f;
	int err;

	if (!may_read(pid))
		return -EACCES;
	if (readers.slots)
		return read_file(pid, name, limit, to);
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	err = buffer_add_file(to, f, limit);
	fclose(f);
	return err == -EFBIG ? 0 : err;
}

int remote_text(pid_t pid, const char *name, char *text, size_t size)
{
	const char *data;
	int32_t ahead;
	int64_t n;

	text[0] = '\0';
	if (!may_read(pid))
		return -EACCES;
	if (!readers.slots)
		return proc_text(text, size, "/proc/%d/%s", (int)pid, name);
	pthread_mutex_lock(&readers.lock);
	if (find_ahead(pid, name, &data, &ahead)) {
		n = ahead;
	} else {
		n = ask(REMOTE_FILE, pid, 0, 0, name);
		data = n > 0 ? (const char *)readers.slots[readers.slot].data : NULL;
	}
	if (n > (int64_t)size - 1)
		n = (int64_t)size - 1;
	if (n > 0) {
		memcpy(text, data, (size_t)n);
		text[n] = '\0';
	}
	pthread_mutex_unlock(&readers.lock);
	return n < 0 ? (int)n : n ? 0 : -ESRCH;
}
