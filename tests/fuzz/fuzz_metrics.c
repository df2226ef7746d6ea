// BUILD: cli/service/metrics_server.c cli/service/metrics_address.c cli/options/whole_number.c
/*
 * Reads any text as the address of --metrics, and the same bytes as what a client sends to it: it
 * gets one answer that is HTTP, or none.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/service/metrics_address.h"
#include "cli/service/metrics_server.h"
#include "core/base/alloc.h"
#include "core/base/buffer.h"

#define MAX_SENT 8192 /* the buffers of a local connection hold more */
#define EVERY 16      /* a connection takes as long as hundreds of addresses */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What was understood is understood again from its own text. */
static void check_address(const char *text)
{
	char host[INET6_ADDRSTRLEN], written[INET6_ADDRSTRLEN + 16];
	struct metrics_address a, same;
	bool v6;

	if (!metrics_address_parse(text, &a))
		return;
	v6 = a.any.sa_family == AF_INET6;
	if (a.size != (v6 ? sizeof(a.v6) : sizeof(a.v4)) || (!v6 && a.any.sa_family != AF_INET) ||
	    !inet_ntop(a.any.sa_family, v6 ? (void *)&a.v6.sin6_addr : (void *)&a.v4.sin_addr, host,
		       sizeof(host)))
		abort();
	snprintf(written, sizeof(written), v6 ? "[%s]:%u" : "%s:%u", host,
		 ntohs(v6 ? a.v6.sin6_port : a.v4.sin_port));
	if (!metrics_address_parse(written, &same) || same.size != a.size ||
	    memcmp(&same.any, &a.any, a.size))
		abort();
}

static void write_text(void *context, struct buffer *b)
{
	(void)context;
	buffer_add_string(b, "sprof_samples_total 7\n");
}

/* Each input is a minute after the one before. */
static void check_request(const uint8_t *data, size_t size)
{
	static struct metrics_server *server;
	static uint64_t now_ns;
	struct sockaddr_in a = { .sin_family = AF_INET };
	char answer[1024];
	ssize_t n;
	int fd;

	if (!server && metrics_server_new("0", &server))
		abort();
	a.sin_port = htons(metrics_server_port(server));
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	/* The fuzzer's own timer interrupts a connect, which is done all the same. */
	if (fd < 0 || (connect(fd, (struct sockaddr *)&a, sizeof(a)) && errno != EINTR))
		abort();
	if (size && send(fd, data, size < MAX_SENT ? size : MAX_SENT, MSG_NOSIGNAL) < 0)
		abort();
	shutdown(fd, SHUT_WR);
	now_ns += 60000000000ull;
	for (int i = 0; i < 4; i++)
		metrics_server_round(server, now_ns, write_text, NULL);
	n = recv(fd, answer, sizeof(answer), MSG_DONTWAIT);
	if (n > 0 && (n < 12 || memcmp(answer, "HTTP/1.0 ", 9)))
		abort();
	close(fd);
	metrics_server_round(server, now_ns + 59000000000ull, write_text, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static unsigned int nr;
	char *text = xmalloc(size + 1);

	memcpy(text, data, size);
	text[size] = '\0';
	check_address(text);
	free(text);
	if (size > 8 || nr++ % EVERY == 0)
		check_request(data, size);
	return 0;
}
