/*
 * Connects to the rendezvous, receives two descriptors, maps their files and closes them. Raw
 * system calls only, so it may run inside a signal handler.
 */
#include "sampler/agent/join.h"

#include "sampler/agent/agent.h"
#include "sampler/agent/rendezvous.h"
#include "sampler/agent/syscall.h"

#define AF_UNIX 1
#define SOCK_SEQPACKET_FLAGS (5 | 02000000 | 04000) /* CLOEXEC, NONBLOCK */
#define SOL_SOCKET 1
#define SO_PEERCRED 17
#define SCM_RIGHTS 1
#define MSG_CMSG_CLOEXEC 0x40000000
#define POLLIN 1
#define PROT_READ 1
#define PROT_WRITE 2
#define MAP_SHARED 1
#define MADV_DONTFORK 10
#define EAGAIN_ERROR 11
#define CONNECT_TRIES 20
#define CONNECT_PAUSE_NS 5000000
#define WAIT_SECONDS 1 /* for the recorder's answer */

struct address {
	__u16 family;
	char path[108];
};

struct credentials {
	__s32 pid;
	__u32 uid, gid;
};

struct part {
	void *base;
	__u64 size;
};

struct message {
	void *name;
	__u32 name_size, pad;
	struct part *parts;
	__u64 nr_parts;
	void *control;
	__u64 control_size;
	__s32 flags, pad1;
};

struct rights {
	__u64 size;
	__s32 level, type;
	__s32 fds[2];
};

struct wanted {
	__s32 fd;
	__s16 events, revents;
};

/*
 * Where others keep the recorder's socket busy (EAGAIN), the program must not wait for long: this
 * is a signal handler.
 */
static long connect_soon(long fd, const struct address *address, __u64 size)
{
	long err = -EAGAIN_ERROR;

	for (int i = 0; i < CONNECT_TRIES && err == -EAGAIN_ERROR; i++) {
		struct agent_timespec pause = { 0, CONNECT_PAUSE_NS };

		if (i)
			agent_syscall6(__NR_ppoll, 0, 0, &pause, 0, 8, 0);
		err = agent_syscall3(__NR_connect, fd, address, size);
	}
	return err;
}

/* The connected socket, or -errno. Only our own user and root may hand us memory. */
static long reach(__u64 name)
{
	struct address address = { .family = AF_UNIX };
	struct credentials who = { 0, 0, 0 };
	__s32 size = sizeof(who);
	__u32 at = 1;
	long fd, err;

	for (const char *c = RENDEZVOUS_PREFIX; *c; c++)
		address.path[at++] = *c;
	for (int shift = 60; shift >= 0; shift -= 4)
		address.path[at++] = "0123456789abcdef"[name >> shift & 15];
	fd = agent_syscall3(__NR_socket, AF_UNIX, SOCK_SEQPACKET_FLAGS, 0);
	if (fd < 0)
		return fd;
	err = connect_soon(fd, &address, sizeof(address.family) + at);
	if (!err)
		err = agent_syscall6(__NR_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, &who, &size, 0);
	if (!err && who.uid && who.uid != (__u32)agent_syscall0(__NR_geteuid))
		err = -1; /* EPERM */
	if (!err)
		return fd;
	agent_syscall1(__NR_close, fd);
	return err;
}

/* Receives the two descriptors. 0 or -errno. */
static long receive(long fd, __s32 *fds)
{
	struct agent_timespec patience = { WAIT_SECONDS, 0 };
	struct wanted wanted = { .fd = (__s32)fd, .events = POLLIN };
	struct rendezvous_message text = { 0, 0, 0 };
	struct part part = { &text, sizeof(text) };
	struct rights rights = { 0, 0, 0, { -1, -1 } };
	struct message message = {
		.parts = &part,
		.nr_parts = 1,
		.control = &rights,
		.control_size = sizeof(rights),
	};
	long err = agent_syscall6(__NR_ppoll, &wanted, 1, &patience, 0, 8, 0);

	if (err <= 0)
		return err ? err : -110; /* ETIMEDOUT */
	err = agent_syscall3(__NR_recvmsg, fd, &message, MSG_CMSG_CLOEXEC);
	if (err != (long)sizeof(text))
		return err < 0 ? err : -71; /* EPROTO */
	if (text.magic != RENDEZVOUS_MAGIC || text.version != REGION_VERSION || text.error ||
	    rights.level != SOL_SOCKET || rights.type != SCM_RIGHTS ||
	    rights.size != sizeof(rights))
		return -71;
	fds[0] = rights.fds[0];
	fds[1] = rights.fds[1];
	return 0;
}

void agent_ask_to_settle(__u64 name)
{
	struct agent_timespec patience = { 0, 200000000 };
	long fd = reach(name ^ RENDEZVOUS_SETTLE);
	struct wanted wanted = { .fd = (__s32)fd, .events = POLLIN };

	if (fd < 0)
		return;
	/* the recorder sends nothing; it hangs up when it is done */
	agent_syscall6(__NR_ppoll, &wanted, 1, &patience, 0, 8, 0);
	agent_syscall1(__NR_close, fd);
}

void agent_say_busy(__u64 name)
{
	long fd = reach(name ^ RENDEZVOUS_BUSY);

	if (fd >= 0)
		agent_syscall1(__NR_close, fd);
}

static long map(long fd, __u64 size, __u64 offset, int protection)
{
	return agent_syscall6(__NR_mmap, 0, size, protection, MAP_SHARED, fd, offset);
}

static int is_error(long address)
{
	return address < 0 && address > -4096;
}

long agent_join(__u64 name, struct agent_region **ret)
{
	const __u64 size = REGION_FILE_SIZE - REGION_CODE_SIZE;
	struct agent_region *r;
	long fd = reach(name), err, region, arena;
	__s32 fds[2];

	if (fd < 0)
		return fd;
	err = receive(fd, fds);
	agent_syscall1(__NR_close, fd);
	if (err)
		return err;
	region = map(fds[0], size, REGION_CODE_SIZE, PROT_READ | PROT_WRITE);
	arena = map(fds[1], sizeof(struct walk_arena), 0, PROT_READ);
	agent_syscall1(__NR_close, fds[0]);
	agent_syscall1(__NR_close, fds[1]);
	if (is_error(region)) {
		if (!is_error(arena))
			agent_syscall2(__NR_munmap, arena, sizeof(struct walk_arena));
		return region;
	}
	r = (struct agent_region *)region;
	agent_syscall3(__NR_mprotect, r + 1, sizeof(struct walk_space), PROT_READ);
	/* Not inherited by fork(2): a child must not write into the region of its parent. */
	agent_syscall3(__NR_madvise, r, size, MADV_DONTFORK);
	if (!is_error(arena)) {
		agent_syscall3(__NR_madvise, arena, sizeof(struct walk_arena), MADV_DONTFORK);
		r->arena = (__u64)arena;
	}
	*ret = r;
	return 0;
}

void agent_leave(struct agent_region *r)
{
	if (r->arena)
		agent_syscall2(__NR_munmap, r->arena, sizeof(struct walk_arena));
	agent_syscall2(__NR_munmap, r, REGION_FILE_SIZE - REGION_CODE_SIZE);
}
