/*
 * The kernel's types of open files and sockets, reduced to the fields that the BPF programs read,
 * as task.h has those of threads.
 */
#ifndef SPROF_BPF_KERNEL_FILES_H
#define SPROF_BPF_KERNEL_FILES_H

#include <linux/types.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct qstr {
	const unsigned char *name;
};

struct dentry {
	struct qstr d_name;
};

struct path {
	struct dentry *dentry;
};

struct super_block {
	unsigned int s_dev;
	unsigned long s_magic;
};

struct inode {
	unsigned short i_mode;
	unsigned int i_rdev;
	struct super_block *i_sb;
};

struct file {
	struct inode *f_inode;
	struct path f_path;
	void *private_data;
};

struct vm_area_struct {
	struct file *vm_file; /* NULL: memory of no file */
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct in6_addr_bytes {
	__u8 bytes[16];
};

struct sock_common {
	__u32 skc_daddr;
	__u16 skc_dport; /* in network order */
	__u16 skc_num;
	unsigned short skc_family;
	volatile unsigned char skc_state;
	struct in6_addr_bytes skc_v6_daddr;
};

struct upid {
	int nr;
};

struct pid {
	struct upid numbers[1]; /* the first is of the host */
};

struct sock {
	struct sock_common __sk_common;
	struct pid *sk_peer_pid;
};

struct socket {
	struct sock *sk;
};

struct sockaddr_un {
	char sun_path[108];
};

struct unix_address {
	int len; /* of the family, two bytes, and the path */
	struct sockaddr_un name[];
};

struct unix_sock {
	struct unix_address *addr;
	struct sock *peer;
};

struct rb_node {
	struct rb_node *rb_right, *rb_left;
};

struct rb_root_cached {
	struct rb_node *rb_leftmost;
};

struct epoll_filefd {
	struct file *file;
};

struct epitem {
	struct epoll_filefd ffd;
};

struct eventpoll {
	struct rb_root_cached rbr;
};

#pragma clang attribute pop

#endif
