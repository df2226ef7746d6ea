/*
 * served_region DEVICE FOLDER: an ordinary user's process that hands over a file of its own FUSE
 * file system where libsprof-gpu.so would hand over shared memory (gpu/agent/base/region.h). The
 * server never answers when the file is closed, so whoever closes it waits until the server ends,
 * after 12 seconds. DEVICE is /dev/fuse, or a node like it. FOLDER is covered by the mount.
 *
 * Works until it is killed. Exits with status 77 if it may not do that.
 */
#include "gpu/agent/base/region.h"
#include "tests/targets/fuse_file.h"

#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>

#define END_S 12

static void serve(int fd)
{
	static char request[FUSE_REQUEST_SIZE];
	const struct fuse_in_header *in = (const void *)request;

	while (read(fd, request, sizeof(request)) > 0)
		if (in->opcode != FUSE_FLUSH)
			answer_as_usual(fd, in);
	_exit(0);
}

static int connect_to_recorder(void)
{
	const char *name = getenv(GPU_ENV_SOCKET);
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	size_t length = name ? strlen(name) : 0;

	if (!length || length > sizeof(address.sun_path))
		cannot(GPU_ENV_SOCKET);
	memcpy(address.sun_path + 1, name + 1, length - 1); /* "@" stands for a NUL */
	length += offsetof(struct sockaddr_un, sun_path);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, (socklen_t)length))
		cannot("connect");
	return fd;
}

static void hand_over(int to, int file)
{
	struct gpu_hello hello = { .magic = GPU_REGION_MAGIC,
				   .version = GPU_REGION_VERSION,
				   .pid = (uint32_t)getpid(),
				   .region_bytes = FILE_SIZE,
				   .memfd = file };
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .head = { .cmsg_len = CMSG_LEN(sizeof(int)),
				.cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS } };
	struct iovec part = { &hello, sizeof(hello) };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };

	memcpy(CMSG_DATA(&control.head), &file, sizeof(int));
	if (sendmsg(to, &message, MSG_NOSIGNAL) != sizeof(hello))
		cannot("sendmsg");
}

int main(int argc, char **argv)
{
	int device, file;

	if (argc != 3)
		return 2;
	alarm(END_S);
	enter_namespaces();
	device = open(argv[1], O_RDWR | O_CLOEXEC);
	if (device < 0)
		cannot(argv[1]);
	mount_served(device, argv[2], 0, "");
	if (!fork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		alarm(END_S);
		serve(device);
	}
	close(device);
	if (chdir(argv[2]))
		cannot(argv[2]);
	file = open("file", O_RDWR | O_CLOEXEC);
	if (file < 0)
		cannot("file");
	hand_over(connect_to_recorder(), file);
	puts("handed over");
	fflush(stdout);
	for (volatile unsigned i = 0;; i++)
		;
}
