/*
 * The reason, which the kernel's stack tells, decides which of the facts is shown: a thread that
 * waits in read() for a disk has a file, and one that waits for a peer has a socket.
 */
#include "sampler/waiting/wait_object.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* The kernel's own form of a device number. */
#define DEVICE_MINOR_BITS 20

static bool add_address(const struct wait_facts *f, char *text, size_t size)
{
	static const uint8_t none[16], mapped[12] = { [10] = 0xff, [11] = 0xff };
	bool is_mapped = f->family == AF_INET6 && !memcmp(f->address, mapped, sizeof(mapped));
	bool v4 = f->family == AF_INET || is_mapped;
	char address[INET6_ADDRSTRLEN];

	if (f->listens) {
		snprintf(text, size, "listens on port %u", f->port);
		return true;
	}
	if (!f->port && !memcmp(f->address, none, sizeof(none)))
		return false; /* not connected */
	if (!inet_ntop(v4 ? AF_INET : AF_INET6, is_mapped ? f->address + 12 : f->address, address,
		       sizeof(address)))
		return false;
	snprintf(text, size, v4 ? "%s:%u" : "[%s]:%u", address, f->port);
	return true;
}

static bool add_socket(const struct wait_facts *f, char *text, size_t size)
{
	if (f->family == AF_INET || f->family == AF_INET6)
		return add_address(f, text, size);
	if (f->family != AF_UNIX)
		return false;
	if (f->name[0])
		snprintf(text, size, "unix %.*s", (int)sizeof(f->name), f->name);
	else if (f->peer_pid)
		snprintf(text, size, "unix, process %" PRIu32, f->peer_pid);
	return f->name[0] || f->peer_pid;
}

/* "sda1"; false: no such block device, as behind a file system in memory. */
static bool device_name(uint32_t device, char *name, size_t size)
{
	char path[64], target[PATH_MAX];
	const char *base;
	ssize_t n;

	snprintf(path, sizeof(path), "/sys/dev/block/%" PRIu32 ":%" PRIu32,
		 device >> DEVICE_MINOR_BITS, device & ((1u << DEVICE_MINOR_BITS) - 1));
	n = readlink(path, target, sizeof(target) - 1);
	if (n <= 0)
		return false;
	target[n] = '\0';
	base = strrchr(target, '/');
	snprintf(name, size, "%.48s", base ? base + 1 : target);
	return true;
}

static bool add_file(const struct wait_facts *f, char *text, size_t size)
{
	bool has_name = f->name[0] && strcmp(f->name, "/") != 0;
	char device[64];

	if (S_ISBLK(f->file_mode))
		return device_name(f->device, text, size);
	if (!device_name(f->device, device, sizeof(device)))
		snprintf(text, size, "%.*s", (int)sizeof(f->name), f->name);
	else if (has_name)
		snprintf(text, size, "%s: %.*s", device, (int)sizeof(f->name), f->name);
	else
		snprintf(text, size, "%s", device);
	return text[0];
}

static bool add_any(const struct wait_facts *f, char *text, size_t size)
{
	switch (f->file_mode & S_IFMT) {
	case S_IFSOCK: return add_socket(f, text, size);
	case S_IFIFO:
		snprintf(text, size, f->name[0] ? "pipe %.40s" : "pipe", f->name);
		return true;
	case 0: /* eventfd and the like have a name but no type */
	case S_IFREG:
	case S_IFCHR:
	case S_IFDIR: snprintf(text, size, "%.40s", f->name); return text[0];
	default: return false;
	}
}

static bool add_polled(const struct wait_facts *f, char *text, size_t size)
{
	size_t length;

	if (!add_any(f, text, size))
		return false;
	length = strlen(text);
	if (f->is_epoll)
		snprintf(text + length, size - length, ", and what else is in the epoll set");
	else if (f->nr_polled > 1)
		snprintf(text + length, size - length, ", the first of %" PRIu32, f->nr_polled);
	return true;
}

bool wait_object_text(const struct wait_facts *f, enum wait_reason reason, const char *symbol,
		      char *text, size_t size)
{
	text[0] = '\0';
	switch (reason) {
	case REASON_LOCK:
		if (symbol[0])
			snprintf(text, size, "lock %s", symbol);
		else
			snprintf(text, size, "lock 0x%" PRIx64, (uint64_t)f->lock);
		return f->lock;
	case REASON_SOCKET: return S_ISSOCK(f->file_mode) && add_socket(f, text, size);
	case REASON_POLL: return add_polled(f, text, size);
	case REASON_PIPE: return S_ISFIFO(f->file_mode) && f->name[0] && add_any(f, text, size);
	case REASON_DISK:
	case REASON_FILE_LOCK:
	case REASON_KERNEL_LOCK:
		return (S_ISREG(f->file_mode) || S_ISDIR(f->file_mode) || S_ISBLK(f->file_mode)) &&
		       add_file(f, text, size);
	default: return false;
	}
}
