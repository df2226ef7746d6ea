// BUILD: cli/service/metrics_server.c cli/service/metrics_address.c cli/options/whole_number.c
/* cli/service/metrics_server.c: answers, and clients that do not behave. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/service/metrics_server.h"
#include "core/base/buffer.h"

#define S 1000000000ull

static unsigned int nr_written;

static void write_text(void *context, struct buffer *b)
{
	(void)context;
	nr_written++;
	buffer_add_string(b, "sprof_samples_total 7\n");
}

static struct metrics_server *serve(void)
{
	struct metrics_server *m;

	assert_int_equal(metrics_server_new("127.0.0.1:0", &m), 0);
	assert_true(metrics_server_port(m) > 0);
	nr_written = 0;
	return m;
}

static int call(const struct metrics_server *m)
{
	struct sockaddr_in a = {
		.sin_family = AF_INET,
		.sin_port = htons(metrics_server_port(m)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	return fd;
}

static void say(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* What comes until the server hangs up, at most 10 rounds later. */
static const char *hear(struct metrics_server *m, int fd, uint64_t now_ns)
{
	static char text[65536];
	size_t size = 0;

	for (int i = 0; i < 10; i++) {
		ssize_t n;

		metrics_server_round(m, now_ns, write_text, NULL);
		while ((n = recv(fd, text + size, sizeof(text) - 1 - size, MSG_DONTWAIT)) > 0)
			size += (size_t)n;
		if (!n)
			break;
		usleep(1000);
	}
	text[size] = '\0';
	return text;
}

static void assert_answer(const char *request, const char *status, const char *body)
{
	struct metrics_server *m = serve();
	int fd = call(m);
	const char *text;

	say(fd, request);
	text = hear(m, fd, S);
	assert_int_equal(strncmp(text, status, strlen(status)), 0);
	if (body)
		assert_string_equal(strstr(text, "\r\n\r\n") + 4, body);
	close(fd);
	metrics_server_free(m);
}

static void a_request_is_answered(void **state)
{
	(void)state;
	assert_answer("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.0 200 OK\r\n",
		      "sprof_samples_total 7\n");
	assert_answer("GET /metrics?x=1 HTTP/1.0\n\n", "HTTP/1.0 200 OK\r\n",
		      "sprof_samples_total 7\n");
	assert_answer("GET /other HTTP/1.0\r\n\r\n", "HTTP/1.0 404 Not Found\r\n", "");
	assert_answer("POST /metrics HTTP/1.0\r\n\r\n", "HTTP/1.0 405 ", "");
	assert_answer("\x16\x03\x01 TLS\r\n\r\n", "HTTP/1.0 405 ", "");
}

static void a_request_may_come_in_pieces(void **state)
{
	struct metrics_server *m = serve();
	int fd = call(m);

	(void)state;
	say(fd, "GET /met");
	assert_string_equal(hear(m, fd, S), "");
	say(fd, "rics HTTP/1.0\r\n\r");
	assert_string_equal(hear(m, fd, S), "");
	say(fd, "\n");
	assert_non_null(strstr(hear(m, fd, S), "sprof_samples_total 7\n"));
	close(fd);
	metrics_server_free(m);
}

static void a_request_without_an_end_is_cut(void **state)
{
	struct metrics_server *m = serve();
	char much[8192];
	int fd = call(m);
	ssize_t n;

	(void)state;
	memset(much, 'x', sizeof(much) - 1);
	much[sizeof(much) - 1] = '\0';
	say(fd, much);
	hear(m, fd, S); /* the answer may be lost with what was not read of the request */
	n = recv(fd, much, 1, MSG_DONTWAIT);
	assert_true(!n || errno == ECONNRESET);
	close(fd);
	metrics_server_free(m);
}

static void a_silent_client_is_let_go(void **state)
{
	struct metrics_server *m = serve();
	int fd = call(m);
	char byte;

	(void)state;
	hear(m, fd, S);
	assert_int_equal(recv(fd, &byte, 1, MSG_DONTWAIT), -1);
	hear(m, fd, 7 * S);
	assert_int_equal(recv(fd, &byte, 1, MSG_DONTWAIT), 0);
	close(fd);
	metrics_server_free(m);
}

static void many_silent_clients_keep_no_one_out(void **state)
{
	struct metrics_server *m = serve();
	int fds[40], fd;

	(void)state;
	for (int i = 0; i < 40; i++) {
		fds[i] = call(m);
		metrics_server_round(m, S, write_text, NULL);
	}
	fd = call(m);
	say(fd, "GET /metrics HTTP/1.0\r\n\r\n");
	assert_non_null(strstr(hear(m, fd, S), "sprof_samples_total 7\n"));
	close(fd);
	for (int i = 0; i < 40; i++)
		close(fds[i]);
	metrics_server_free(m);
}

static void the_text_is_made_once_a_second(void **state)
{
	struct metrics_server *m = serve();

	(void)state;
	for (uint64_t i = 0; i < 20; i++) {
		int fd = call(m);

		say(fd, "GET /metrics HTTP/1.0\r\n\r\n");
		assert_non_null(strstr(hear(m, fd, (10 + i) * S / 10), "sprof_samples"));
		close(fd);
	}
	assert_in_range(nr_written, 2, 3);
	metrics_server_free(m);
}

static void a_client_that_is_gone_harms_nothing(void **state)
{
	struct metrics_server *m = serve();

	(void)state;
	for (int i = 0; i < 20; i++) {
		int fd = call(m);

		say(fd, "GET /metrics HTTP/1.0\r\n\r\n");
		close(fd);
		metrics_server_round(m, S, write_text, NULL);
	}
	metrics_server_free(m);
}

static void addresses_are_numbers(void **state)
{
	static const char *const wrong[] = { "",	   ":",	     "x",	    "70000",
					     "1.2.3:80",   "[::1]",  "::1:80",	    "host:80",
					     "127.0.0.1:", "80x",    "[::1:80",	    "-1",
					     "[]:80",	   "[x]:80", "127.0.0.1:+1" };
	static const char *const right[] = { "0", ":0", "localhost:0", "0.0.0.0:0" };
	struct metrics_server *m;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_int_equal(metrics_server_new(wrong[i], &m), -EINVAL);
	for (size_t i = 0; i < sizeof(right) / sizeof(*right); i++) {
		assert_int_equal(metrics_server_new(right[i], &m), 0);
		metrics_server_free(m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_is_answered),
		cmocka_unit_test(a_request_may_come_in_pieces),
		cmocka_unit_test(a_request_without_an_end_is_cut),
		cmocka_unit_test(a_silent_client_is_let_go),
		cmocka_unit_test(many_silent_clients_keep_no_one_out),
		cmocka_unit_test(the_text_is_made_once_a_second),
		cmocka_unit_test(a_client_that_is_gone_harms_nothing),
		cmocka_unit_test(addresses_are_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
