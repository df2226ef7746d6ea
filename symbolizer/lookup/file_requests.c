/* A request is one message; its answer is 0 with a descriptor, or -errno. */
#include "symbolizer/lookup/file_requests.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/rights/debug_paths.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/rights/safe_open.h"
#include "core/sandbox/message.h"
#include "symbolizer/lookup/debuginfod.h"

#define FILES_MAX 65536u /* of one module; a large program has some thousand .dwo files */
#define LINES_MAX 20u	 /* for the user, about one module */
/* What a child may take: ten seconds, and one more for each 4 MB, which is far from fast. */
#define FILE_MS 10000u
#define BYTES_PER_MS 4096u
#define FILE_MS_MAX 1200000u
#define REQUESTS_AT_ONCE 32
#define HEAD_SIZE offsetof(struct file_request, text)

/* ---- in the child */

static int ask(struct file_asker *a, enum file_request_type type, const void *text, size_t size)
{
	struct file_request request = { .type = (uint8_t)type };
	int fd = -1, answer = -EIO;

	if (size >= sizeof(request.text))
		return -ENAMETOOLONG;
	memcpy(request.text, text, size);
	pthread_mutex_lock(&a->lock);
	if (!message_send(a->socket, &request, HEAD_SIZE + size, NULL, 0) &&
	    message_receive(a->socket, &answer, sizeof(answer), &fd, 1) != sizeof(answer))
		answer = -EIO;
	pthread_mutex_unlock(&a->lock);
	if (!answer && fd < 0)
		answer = -EIO;
	return answer ? answer : fd;
}

static int ask_file(const struct file_broker *broker, const struct debug_root *root,
		    const char *path)
{
	return ask((struct file_asker *)broker, root->is_own ? REQUEST_OWN_FILE : REQUEST_FILE,
		   path, strlen(path));
}

static int ask_servers(const struct file_broker *broker, const uint8_t *id, size_t size)
{
	return ask((struct file_asker *)broker, REQUEST_FETCH, id, size);
}

static void relay(void *context, const char *line)
{
	struct file_asker *a = context;
	struct file_request request = { .type = REQUEST_LOG };
	size_t length = strnlen(line, sizeof(request.text) - 1);

	memcpy(request.text, line, length);
	pthread_mutex_lock(&a->lock);
	message_send(a->socket, &request, HEAD_SIZE + length, NULL, 0);
	pthread_mutex_unlock(&a->lock);
}

void file_asker_init(struct file_asker *a, int socket)
{
	*a = (struct file_asker){ .broker = { ask_file, ask_servers }, .socket = socket };
	pthread_mutex_init(&a->lock, NULL);
	log_set_relay(relay, a);
}

void file_asker_finish(struct file_asker *a)
{
	const struct file_request request = { .type = REQUEST_DONE };

	message_send(a->socket, &request, HEAD_SIZE, NULL, 0);
}

/* ---- in the recorder */

static int open_own(const struct file_server *s, const char *path)
{
	const char *dir = s->opts->debug_dir ? s->opts->debug_dir : DEBUG_PATHS_DIR;
	size_t length = strlen(dir);

	if (strncmp(path, dir, length) != 0 || path[length] != '/' || strstr(path, "/../"))
		return -EPERM;
	return safe_open_in_root(s->own_root, path, SAFE_OPEN_ELF_MAX);
}

static int fetch(const struct file_server *s, const char *id, size_t size)
{
	if (!s->opts->debuginfod || size > BUILD_ID_MAX)
		return -ENOENT;
	return debuginfod_fetch(s->opts->debuginfod, s->path, (const uint8_t *)id, size);
}

/* Takes over fd. */
static int only_trusted(struct file_server *s, const char *path, int fd)
{
	if (fd < 0 || debug_trust_allows(&s->trust, fd))
		return fd;
	close(fd);
	log_debug("'%s': '%s' in its root is not trusted", s->path, path);
	if (!s->nr_untrusted++)
		log_warning("'%s': a debug file is not used, which could have been written by "
			    "others than the owner of that file",
			    s->path);
	return -EPERM;
}

static int open_requested(struct file_server *s, const struct file_request *r, size_t size)
{
	int fd;

	if (s->nr_opened++ >= FILES_MAX)
		return -EMFILE;
	if (r->type == REQUEST_FETCH)
		return safe_open_only_elf(fetch(s, r->text, size));
	if (strlen(r->text) != size || r->text[0] != '/')
		return -EINVAL;
	if (r->type == REQUEST_OWN_FILE)
		return safe_open_only_elf(open_own(s, r->text));
	if (s->root < 0)
		return -ENOENT;
	fd = safe_open_only_elf(safe_open_in_root(s->root, r->text, SAFE_OPEN_ELF_MAX));
	return only_trusted(s, r->text, fd);
}

void file_server_count(struct file_server *s, int fd)
{
	struct stat st;
	bool is_new;

	/* st_size of a file with holes says nothing about its bytes */
	if (fstat(fd, &st))
		return;
	number_map_at(&s->counted, st.st_ino * 0x9e3779b97f4a7c15ull ^ st.st_dev, &is_new);
	if (is_new)
		s->bytes += (uint64_t)st.st_blocks * 512;
}

void file_server_fini(struct file_server *s)
{
	number_map_fini(&s->counted);
}

static int serve_file(struct file_server *s, int socket, const struct file_request *r, size_t size)
{
	int fd = open_requested(s, r, size), answer = fd < 0 ? fd : 0, err;

	err = message_send(socket, &answer, sizeof(answer), &fd, fd >= 0);
	if (fd >= 0) {
		file_server_count(s, fd);
		close(fd);
	}
	return err == -EPIPE ? -ECHILD : err;
}

/* Answers one request that has come. Returns as file_server_go_on() does. */
static int serve(struct file_server *s, int socket)
{
	struct file_request request;
	ssize_t n = message_receive(socket, &request, sizeof(request) - 1, NULL, 0);
	int err;

	if (n == -EAGAIN)
		return -EAGAIN;
	if (n < (ssize_t)HEAD_SIZE)
		return n == 0 ? -ECHILD : -EBADMSG;
	request.text[n - (ssize_t)HEAD_SIZE] = '\0';
	switch (request.type) {
	case REQUEST_FILE:
	case REQUEST_OWN_FILE:
	case REQUEST_FETCH:
		err = serve_file(s, socket, &request, (size_t)n - HEAD_SIZE);
		/* Not -EAGAIN, which is a child that asks and does not read: that is nonsense. */
		return !err ? -EAGAIN : err == -ECHILD ? err : -EBADMSG;
	case REQUEST_LOG:
		if (s->nr_logged++ < LINES_MAX)
			log_relayed(request.text);
		return -EAGAIN;
	case REQUEST_DONE: return 0;
	default: return -EBADMSG;
	}
}

int file_server_go_on(struct file_server *s, int socket)
{
	for (int i = 0; i < REQUESTS_AT_ONCE; i++) {
		int err = message_wait(socket, -1, 0);

		if (err)
			return err == -ETIMEDOUT ? -EAGAIN : err;
		err = serve(s, socket);
		if (err != -EAGAIN)
			return err;
	}
	return -EAGAIN;
}

/* How much longer the child may take. */
static uint64_t left_ns(const struct file_server *s)
{
	uint64_t ms = (s->opts->file_ms ? s->opts->file_ms : FILE_MS) + s->bytes / BYTES_PER_MS;
	uint64_t ns = (ms < FILE_MS_MAX ? ms : FILE_MS_MAX) * 1000000;

	if (s->max_ns && s->max_ns < ns)
		ns = s->max_ns;
	return ns > s->waited_ns ? ns - s->waited_ns : 0;
}

int file_server_run(struct file_server *s, int socket)
{
	for (;;) {
		uint64_t left = left_ns(s), start = monotonic_ns();
		int err = left ? message_wait(socket, -1, (int)(left / 1000000) + 1) : -ETIMEDOUT;

		s->waited_ns += monotonic_ns() - start; /* and not the time of the answers */
		err = err ? err : serve(s, socket);
		if (err != -EAGAIN)
			return err;
	}
}
