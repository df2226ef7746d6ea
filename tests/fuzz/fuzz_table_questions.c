/*
 * What a child that builds unwind tables may ask of the recorder, if a file has taken it over: for
 * debug files, by names that it chooses. The input is messages, each two bytes of length and its
 * bytes; a message of full length is a question. Files are opened below a scratch directory that
 * stands for the root of a target, beside one that has to stay shut. Whatever comes, the recorder
 * hands over only ELF files of the two directories that are searched, and stops answering.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/log.h"
#include "core/rights/debug_paths.h"
#include "core/sandbox/message.h"
#include "sampler/unwind/confined_table.h"
#include "sampler/walk/module_debug_files.h"

#define NR_MESSAGES_MAX 64
#define QUESTIONS_MAX 32 /* more than the recorder may answer */

static char scratch[] = "/tmp/fuzz_table_questions.XXXXXX";
static char module_path[128];
static struct mapped_root root;
static int module_fd;

static void make_file(const char *name)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", scratch, name);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, "\177ELF0000", 8) != 8)
		abort();
	close(fd);
}

static void make_folder(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", scratch, name);
	if (mkdir(path, 0755))
		abort();
}

static void remove_scratch(void)
{
	static const char *const names[] = { "root/lib/.debug/d",
					     "root/lib/.debug",
					     "root/lib/d",
					     "root/lib/m",
					     "root/lib",
					     "root/d",
					     "root",
					     "d",
					     "" };
	char path[256];

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(path, sizeof(path), "%s/%s", scratch, names[i]);
		remove(path);
	}
}

static void make_scratch(void)
{
	if (!mkdtemp(scratch))
		abort();
	make_folder("root");
	make_folder("root/lib");
	make_folder("root/lib/.debug");
	make_file("d");
	make_file("root/d");
	make_file("root/lib/d");
	make_file("root/lib/m");
	make_file("root/lib/.debug/d");
	snprintf(module_path, sizeof(module_path), "%s/root/lib/m", scratch);
	root.prefix = strlen(scratch) + strlen("/root");
	module_fd = open(module_path, O_RDONLY | O_CLOEXEC);
	atexit(remove_scratch);
}

/* Hands out what module_debug_files.c opens, and looks what it is. */
struct watched_files {
	struct debug_files files;
	struct module_debug_files real;
	int nr_asked;
};

static int open_watched(struct debug_files *files, const struct debug_names *names,
			unsigned int candidate)
{
	struct watched_files *w = (struct watched_files *)files;
	char link[32], path[512] = "", beside[160];
	int fd;

	if (++w->nr_asked > QUESTIONS_MAX || names->build_id_size > BUILD_ID_MAX ||
	    strnlen(names->link, sizeof(names->link)) == sizeof(names->link))
		abort();
	fd = w->real.files.open(&w->real.files, names, candidate);
	if (fd < 0)
		return fd;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (readlink(link, path, sizeof(path) - 1) < 0)
		abort();
	snprintf(beside, sizeof(beside), "%s/root/lib/", scratch);
	if (strncmp(path, beside, strlen(beside)) != 0 &&
	    strncmp(path, DEBUG_PATHS_DIR "/", strlen(DEBUG_PATHS_DIR "/")) != 0)
		abort();
	return fd;
}

static void send_messages(int socket, const uint8_t *data, size_t size)
{
	for (int i = 0; i < NR_MESSAGES_MAX && size >= 2; i++) {
		size_t length = data[0] | (size_t)data[1] << 8;

		data += 2;
		size -= 2;
		length = length < size ? length : size;
		if (length && send(socket, data, length, MSG_DONTWAIT) < 0)
			break;
		data += length;
		size -= length;
	}
	shutdown(socket, SHUT_WR);
}

/* Every answer is a number, with a descriptor where it is 0. */
static void take_answers(int socket, int nr_asked)
{
	int answer, fd, nr = 0, nr_ends = 0;

	/* The first end is an error where messages of the child were left unread. */
	while (nr_ends < 2) {
		if (message_receive(socket, &answer, sizeof(answer), &fd, 1) != sizeof(answer)) {
			nr_ends++;
			continue;
		}
		if ((answer == 0) != (fd >= 0) || answer > 0)
			abort();
		if (fd >= 0)
			close(fd);
		nr++;
	}
	if (nr < nr_asked)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct watched_files files = { .files = { open_watched } };
	struct table_order order = { .files = &files.files, .cancel_fd = -1 };
	int sockets[2], err;

	log_set_level(LOG_QUIET);
	if (!*module_path)
		make_scratch();
	if (message_pair(sockets))
		abort();
	order.fd = module_fd;
	module_debug_files_init(&files.real, module_fd, &root, module_path);
	send_messages(sockets[1], data, size);
	err = confined_table_answer(sockets[0], &order);
	if (err > 0)
		abort();
	close(sockets[0]);
	take_answers(sockets[1], files.nr_asked);
	close(sockets[1]);
	return 0;
}
