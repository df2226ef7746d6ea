/*
 * Hands descriptors over: the target makes a socket pair, we take a copy of one end
 * (pidfd_getfd(2)) and send through it, and the target receives at the other end. So neither needs
 * to find the other in a file system or a namespace.
 *
 * Container engines refuse pidfd_getfd(2) by default. There the target is in our network namespace,
 * and its end of the pair gets a name that only we send to.
 */
#include "sampler/attach/hand_over.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/proc_status.h"

#include "sampler/attach/attach.h"
#include "sampler/inject/inject.h"
#include "sampler/inject/seccomp_status.h"

#define LIMIT_MS 1000u
#define NR_FILES 2

#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif

/* What lies in the scratch of the target. */
struct receiving {
	struct msghdr message;
	struct iovec part;
	char byte;
};
_Static_assert(sizeof(struct receiving) <= INJECT_SCRATCH_SIZE, "scratch");

/* Abstract addresses: of our socket, and of the target's end of the pair. */
struct names {
	struct sockaddr_un ours, its;
};
_Static_assert(sizeof(struct names) <= INJECT_SCRATCH_SIZE, "scratch");
#define NAME_PREFIX "sprof-attach-"
#define NAME_SIZE (sizeof(sa_family_t) + 1 + sizeof(NAME_PREFIX) - 1 + 16)
_Static_assert(CMSG_LEN(NR_FILES * sizeof(int)) == 24, "control[] and two descriptors");

void attach_layout(uint64_t stub, uint64_t arena_size, struct attach_layout *ret)
{
	ret->stub = stub;
	ret->code = stub + INJECT_STUB_SIZE;
	ret->region = ret->code + REGION_CODE_SIZE;
	ret->space = ret->code + REGION_SPACE_OFFSET;
	ret->arena = ret->code + REGION_FILE_SIZE;
	ret->end = ret->arena + arena_size;
}

static int send_files(int fd, const struct sockaddr_un *to, const struct attach_files *files)
{
	const int fds[NR_FILES] = {
		files->region_fd,
		files->arena_fd >= 0 ? files->arena_fd : files->region_fd,
	};
	char byte = 0;
	struct iovec part = { &byte, 1 };
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(sizeof(fds))];
	} control = { 0 };
	struct msghdr m = {
		.msg_name = (void *)to,
		.msg_namelen = to ? NAME_SIZE : 0,
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};

	control.head.cmsg_level = SOL_SOCKET;
	control.head.cmsg_type = SCM_RIGHTS;
	control.head.cmsg_len = CMSG_LEN(sizeof(fds));
	memcpy(CMSG_DATA(&control.head), fds, sizeof(fds));
	return sendmsg(fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

/* Sends the files through a copy of the target's own end. -EPERM: we may take no descriptor. */
static int send_through_pair(pid_t pid, int target_fd, const struct attach_files *files)
{
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0), fd, err;

	if (pidfd < 0)
		return -errno;
	fd = (int)syscall(SYS_pidfd_getfd, pidfd, target_fd, 0);
	err = fd < 0 ? -errno : send_files(fd, NULL, files);
	if (fd >= 0)
		close(fd);
	close(pidfd);
	return err;
}

/* Nothing else has such a name, so nothing else can have been there before. */
static int make_name(struct sockaddr_un *ret)
{
	uint64_t random;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return -EAGAIN;
	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	snprintf(ret->sun_path + 1, sizeof(ret->sun_path) - 1, NAME_PREFIX "%016llx",
		 (unsigned long long)random);
	return 0;
}

/*
 * The target's socket is connected to ours before it gets its name, so the kernel lets none but us
 * send to it.
 */
static int name_its_end(struct inject *i, int target_fd, const struct names *names)
{
	const uint64_t at = inject_scratch(i);
	struct inject_call calls[2] = {
		{ SYS_connect,
		  { (uint64_t)target_fd, at + offsetof(struct names, ours), NAME_SIZE },
		  0 },
		{ SYS_bind,
		  { (uint64_t)target_fd, at + offsetof(struct names, its), NAME_SIZE },
		  0 },
	};
	int err = inject_is_held(i);

	if (!err)
		err = inject_process_write(inject_process(i), at, names, sizeof(*names));
	if (!err)
		err = inject_calls(i, calls, 2, LIMIT_MS);
	for (int n = 0; n < 2 && !err; n++)
		err = (int)calls[n].result;
	return err;
}

static int send_by_name(struct inject *i, int target_fd, const struct attach_files *files)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), err;
	struct names names;

	if (fd < 0)
		return -errno;
	err = make_name(&names.ours) ?: make_name(&names.its);
	if (!err && bind(fd, (struct sockaddr *)&names.ours, NAME_SIZE))
		err = -errno;
	if (!err)
		err = name_its_end(i, target_fd, &names);
	if (!err)
		err = send_files(fd, &names.its, files);
	close(fd);
	return err;
}

/*
 * Only under a seccomp filter of our own: then the target has none, or the same, which was tried
 * (inject_known_call.by_name).
 */
static bool may_go_by_name(void)
{
	char text[8192];

	return !proc_status_text((pid_t)syscall(SYS_gettid), text, sizeof(text)) &&
	       inject_seccomp_nr_filters(text);
}

static int make_pair(struct inject *i, int32_t *ret_fds)
{
	const uint64_t fds = inject_mailbox(i) + offsetof(struct inject_mailbox, descriptors);
	const uint64_t args[6] = { AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, fds + 8 };
	int64_t result;
	int err = inject_syscall(i, SYS_socketpair, args, &result);

	if (!err && result)
		return (int)result;
	return err ? err : inject_process_read(inject_process(i), fds, ret_fds, 16);
}

/*
 * recvmsg(2) in the target; the two descriptors, as the target numbers them, then lie in the
 * mailbox.
 */
static int receive_call(const struct inject *i, int32_t fd, struct inject_call *ret)
{
	const uint64_t scratch = inject_scratch(i), mailbox = inject_mailbox(i);
	struct receiving r = {
		.message = {
			.msg_iov = (void *)(scratch + offsetof(struct receiving, part)),
			.msg_iovlen = 1,
			.msg_control = (void *)(mailbox + offsetof(struct inject_mailbox, control)),
			.msg_controllen = CMSG_LEN(NR_FILES * sizeof(int)),
		},
		.part = { (void *)(scratch + offsetof(struct receiving, byte)), 1 },
	};

	*ret = (struct inject_call){ SYS_recvmsg,
				     { (uint64_t)fd, scratch, MSG_CMSG_CLOEXEC | MSG_DONTWAIT },
				     0 };
	return inject_is_held(i) ?: inject_process_write(inject_process(i), scratch, &r, sizeof(r));
}

static struct inject_call map_call(uint64_t start, uint64_t end, unsigned int descriptor)
{
	return (struct inject_call){ SYS_mmap,
				     { start, end - start, PROT_READ,
				       MAP_SHARED | MAP_FIXED_NOREPLACE,
				       INJECT_DESCRIPTOR(descriptor), 0 },
				     0 };
}

static struct inject_call protect_call(uint64_t start, uint64_t end, uint64_t protection)
{
	return (struct inject_call){ SYS_mprotect, { start, end - start, protection }, 0 };
}

/*
 * Mapped read-only at first, and not inherited by fork(2) before anything can be run or written: a
 * child that is forked in between gets nothing that could do harm. All calls are made in one go,
 * because on a busy machine each wait for the target waits for a CPU.
 */
static int map_files(struct inject *i, const struct attach_layout *l, int32_t fd,
		     const struct inject_call *then, int64_t *ret_result)
{
	struct inject_call calls[10];
	unsigned int nr = 0;
	int err = receive_call(i, fd, &calls[nr++]);

	calls[nr++] = map_call(l->code, l->arena, 0);
	if (l->end > l->arena)
		calls[nr++] = map_call(l->arena, l->end, 1);
	calls[nr++] = (struct inject_call){ SYS_madvise,
					    { l->code, l->end - l->code, MADV_DONTFORK },
					    0 };
	calls[nr++] = protect_call(l->code, l->region, PROT_READ | PROT_EXEC);
	calls[nr++] = protect_call(l->region, l->space, PROT_READ | PROT_WRITE);
	calls[nr++] = (struct inject_call){ .target = INJECT_CLOSE };
	inject_keep_calls(i, &calls[nr]);
	nr += 2;
	calls[nr++] = *then;
	if (!err)
		err = inject_calls(i, calls, nr, LIMIT_MS);
	for (unsigned int n = 0; n < nr - 1 && !err; n++) {
		if ((int64_t)calls[n].result < 0 && (int64_t)calls[n].result >= -4095)
			err = (int)calls[n].result;
	}
	*ret_result = (int64_t)calls[nr - 1].result;
	return err;
}

int attach_memory_map(struct inject *i, const struct attach_files *files,
		      const struct attach_layout *layout, const struct inject_call *then,
		      int64_t *ret_result, struct inject_reason *reason)
{
	int32_t fds[4];
	int err = make_pair(i, fds);

	if (!err)
		err = send_through_pair(inject_process(i)->pid, fds[2], files);
	if (err == -EPERM && may_go_by_name())
		err = send_by_name(i, fds[3], files);
	if (!err)
		err = inject_unmap_on_death(i, layout->stub, layout->end - layout->stub);
	if (!err)
		err = map_files(i, layout, fds[3], then, ret_result);
	if (!err)
		return 0;
	inject_calls(i, &(struct inject_call){ .target = INJECT_CLOSE }, 1, LIMIT_MS);
	if (err == -ENOSYS)
		return inject_refuse_entry(
			reason, err, "",
			"the kernel has no pidfd_getfd(2): Linux 5.6 is the oldest");
	if (err == -ECONNREFUSED)
		return inject_refuse(reason, err, "run sprof inside its container",
				     "it is in another network namespace, and pidfd_getfd(2) is "
				     "refused to sprof");
	if (err == -EBADF || err == -ETIMEDOUT)
		return inject_refuse(reason, -ETIMEDOUT, "try again",
				     "the machine is so busy that its thread could not be held for "
				     "as long as it takes");
	if (err == -EMFILE || err == -ENFILE)
		return inject_refuse_entry(reason, err, "",
					   "it has no descriptor free (ulimit -n)");
	return inject_refuse_entry(reason, err, "", "memory could not be shared with it: %s",
				   strerror(-err));
}
