/*
 * What a thread waited for, by the arguments of the system call that it is in: the address of the
 * lock, the peer of the socket, the device and name of the file. Read for waits that are sampled
 * only; but who holds a lock is known only while the thread waits for it, so that is read as the
 * thread is switched from.
 */
#ifndef SPROF_WAIT_FACTS_BPF_H
#define SPROF_WAIT_FACTS_BPF_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "sampler/bpf/events.h"
#include "sampler/bpf/kernel_files.h"
#include "sampler/bpf/system_calls_x86_64.bpf.h"
#include "sampler/bpf/task.h"

#define S_IFMT 0170000
#define S_IFSOCK 0140000
#define S_IFBLK 0060000
#define S_IFREG 0100000
#define S_IFDIR 0040000

#define ANON_INODE_FS_MAGIC 0x09041934

#define AF_UNIX 1
#define AF_INET 2
#define AF_INET6 10
#define TCP_LISTEN 10

#define FUTEX_COMMAND 0x7f
#define FUTEX_WAIT 0
#define FUTEX_LOCK_PI 6
#define FUTEX_WAIT_BITSET 9
#define FUTEX_LOCK_PI2 13
#define FUTEX_TID_MASK 0x3fffffff

#define MUTEX_CONTENDED 2 /* the value on which glibc's locks wait */
#define MUTEX_KINDS 0x1ff /* of __kind: the types and flags of a mutex */

/* The beginning of pthread_mutex_t of glibc on 64 bits, unchanged since 2.3. */
struct glibc_mutex {
	__u32 lock, count, owner, users, kind;
};

/* How the memory of a thread can be read. */
enum memory_way {
	MEMORY_NOT,    /* not at all */
	MEMORY_MAPPED, /* it is the current thread */
	MEMORY_COPIED, /* the program may sleep: from Linux 5.18 on */
};

static long note_file(struct task_struct *task, struct vm_area_struct *vma, bool *ret_is_file)
{
	(void)task;
	*ret_is_file = vma->vm_file != NULL;
	return 0;
}

/*
 * Is the address in memory of no file? A page of a file may never come: a FUSE server need not
 * answer. The look does not wait for the lock of the memory, which its process can hold for ever. A
 * process that maps a file or takes the lock right after it can still stop the copy.
 */
static __always_inline bool is_quick_to_read(struct task_struct *task, __u64 address)
{
	bool is_file = true;

	return !bpf_find_vma(task, address, note_file, &is_file, 0) && !is_file;
}

/* Returns 0, or a negative number if nothing was read. */
static __always_inline long read_memory(struct task_struct *task, enum memory_way way, void *to,
					__u32 size, __u64 address)
{
	if (way == MEMORY_MAPPED)
		return bpf_probe_read_user(to, size, (void *)address);
	if (way == MEMORY_COPIED && is_quick_to_read(task, address))
		return bpf_copy_from_user_task(to, size, (void *)address, task, 0);
	return -1;
}

static __always_inline __u64 lock_of(const struct system_call *call, struct task_struct *task,
				     enum memory_way way)
{
	__u64 address = 0;

	if (call->kind == CALL_FUTEX || call->kind == CALL_FUTEX_WAIT)
		return call->args[0];
	if (call->kind == CALL_FUTEX_WAITV)
		read_memory(task, way, &address, sizeof(address), call->args[0] + 8);
	return address;
}

/*
 * The thread that holds the lock for which `task`, whose memory is mapped now, begins to wait in
 * the system call futex; 0: not known. Condition variables and semaphores wait on other values
 * than a mutex.
 */
static __noinline __u32 holder_of_futex(struct task_struct *task)
{
	struct glibc_mutex mutex = { 0 };
	struct system_call call;
	__u32 command;

	take_call(&call, task);
	if (call.kind != CALL_FUTEX)
		return 0;
	command = call.args[1] & FUTEX_COMMAND;
	if (command == FUTEX_LOCK_PI || command == FUTEX_LOCK_PI2) {
		bpf_probe_read_user(&mutex, 4, (void *)call.args[0]);
		return mutex.lock & FUTEX_TID_MASK;
	}
	if ((command != FUTEX_WAIT && command != FUTEX_WAIT_BITSET) ||
	    (__u32)call.args[2] != MUTEX_CONTENDED ||
	    bpf_probe_read_user(&mutex, sizeof(mutex), (void *)call.args[0]))
		return 0;
	return mutex.lock == MUTEX_CONTENDED && !(mutex.kind & ~MUTEX_KINDS) ? mutex.owner : 0;
}

extern int LINUX_KERNEL_VERSION __kconfig;

/*
 * May a thread that leaves its CPU in this state wait in futex? Since Linux 6.1 such waits can be
 * frozen, or wait for a lock that inherits priority; of other waits the system call is not read,
 * which finds its memory cold.
 */
static __always_inline bool may_wait_in_futex(struct task_struct *task, __u32 state)
{
	if (LINUX_KERNEL_VERSION < KERNEL_VERSION(6, 1, 0) ||
	    !bpf_core_field_exists(task->pi_blocked_on))
		return true;
	return state & TASK_FREEZABLE || task->pi_blocked_on;
}

static __always_inline __u32 holder_of_lock(struct task_struct *task, __u32 state)
{
	return may_wait_in_futex(task, state) && is_in_futex(task) ? holder_of_futex(task) : 0;
}

static __always_inline struct file *file_of(struct task_struct *task, __u32 fd)
{
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file **files = BPF_CORE_READ(table, fd), *file = NULL;

	if (!files || fd >= BPF_CORE_READ(table, max_fds))
		return NULL;
	bpf_probe_read_kernel(&file, sizeof(file), files + fd);
	return file;
}

/* The path of a local socket, or of what it is connected to. */
static __always_inline void add_local_peer(struct wait_facts *f, struct sock *sk)
{
	struct unix_sock *own = (struct unix_sock *)sk;
	struct unix_sock *peer = (struct unix_sock *)BPF_CORE_READ(own, peer);
	struct unix_address *address = peer ? BPF_CORE_READ(peer, addr) : NULL;

	if (!address)
		address = BPF_CORE_READ(own, addr);
	if (address)
		bpf_probe_read_kernel_str(f->name, sizeof(f->name), &address->name[0].sun_path);
	f->peer_pid = BPF_CORE_READ(sk, sk_peer_pid, numbers[0].nr);
}

static __always_inline void add_socket(struct wait_facts *f, struct file *file)
{
	struct socket *socket = BPF_CORE_READ(file, private_data);
	struct sock *sk = socket ? BPF_CORE_READ(socket, sk) : NULL;
	__u32 v4;

	if (!sk)
		return;
	f->family = BPF_CORE_READ(sk, __sk_common.skc_family);
	f->listens = BPF_CORE_READ(sk, __sk_common.skc_state) == TCP_LISTEN;
	f->port = f->listens ? BPF_CORE_READ(sk, __sk_common.skc_num)
			     : bpf_ntohs(BPF_CORE_READ(sk, __sk_common.skc_dport));
	if (f->family == AF_INET) {
		v4 = BPF_CORE_READ(sk, __sk_common.skc_daddr);
		__builtin_memcpy(f->address, &v4, sizeof(v4));
	} else if (f->family == AF_INET6) {
		bpf_core_read(f->address, sizeof(f->address), &sk->__sk_common.skc_v6_daddr);
	} else if (f->family == AF_UNIX) {
		add_local_peer(f, sk);
	}
}

static __always_inline void add_file(struct wait_facts *f, struct file *file)
{
	struct inode *inode = BPF_CORE_READ(file, f_inode);
	const unsigned char *name;
	__u32 type;

	if (!inode)
		return;
	f->file_mode = BPF_CORE_READ(inode, i_mode);
	type = f->file_mode & S_IFMT;
	if (type == S_IFSOCK) {
		add_socket(f, file);
		return;
	}
	f->device =
		type == S_IFBLK ? BPF_CORE_READ(inode, i_rdev) : BPF_CORE_READ(inode, i_sb, s_dev);
	name = BPF_CORE_READ(file, f_path.dentry, d_name.name);
	bpf_probe_read_kernel_str(f->name, sizeof(f->name), name);
}

/* The first file of an epoll set, by its address; it may change at any moment. */
static __always_inline struct file *first_of_epoll(struct file *file)
{
	struct eventpoll *set = BPF_CORE_READ(file, private_data);
	struct epitem *item = set ? (struct epitem *)BPF_CORE_READ(set, rbr.rb_leftmost) : NULL;

	return item ? BPF_CORE_READ(item, ffd.file) : NULL;
}

/* Files of users may have that name, too, but do not lie in the kernel's own file system. */
static __always_inline bool is_epoll(struct file *file)
{
	static const char name[] = "[eventpoll]";
	char is[sizeof(name)] = "";

	if (BPF_CORE_READ(file, f_inode, i_sb, s_magic) != ANON_INODE_FS_MAGIC)
		return false;
	bpf_probe_read_kernel(is, sizeof(is) - 1, BPF_CORE_READ(file, f_path.dentry, d_name.name));
	for (__u32 i = 0; i < sizeof(name) - 1; i++)
		if (is[i] != name[i])
			return false;
	return true;
}

/* Adds to `f` what the system call of the thread waits for. */
static __always_inline int add_call_facts(struct wait_facts *f, struct task_struct *task,
					  enum memory_way way)
{
	struct system_call call;
	struct file *file;
	__u32 fd = 0;

	take_call(&call, task);
	f->lock = lock_of(&call, task, way);
	if (call.kind == CALL_POLL) {
		f->nr_polled = call.args[1];
		if (read_memory(task, way, &fd, sizeof(fd), call.args[0]))
			return 0;
	} else if (call.kind == CALL_FD) {
		fd = call.args[0];
	} else {
		return 0;
	}
	file = file_of(task, fd);
	if (file && is_epoll(file)) {
		f->is_epoll = 1;
		file = first_of_epoll(file);
	}
	if (file)
		add_file(f, file);
	return 0;
}

#endif
