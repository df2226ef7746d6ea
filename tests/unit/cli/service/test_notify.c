// BUILD: cli/service/notify.c
/* cli/service/notify.c: what a service manager hears. */
#include "tests/unit/unit.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cli/service/notify.h"
#include "core/base/log.h"

#define S 1000000000ull

/* A manager at an abstract address, which NOTIFY_SOCKET names. */
static int manage(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	socklen_t size;

	size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
			   (size_t)snprintf(a.sun_path, sizeof(a.sun_path), "@sprof-test-%d",
					    (int)getpid()));
	setenv("NOTIFY_SOCKET", a.sun_path, 1);
	a.sun_path[0] = '\0';
	assert_int_equal(bind(fd, (struct sockaddr *)&a, size), 0);
	return fd;
}

static void assert_hears(int fd, const char *text)
{
	char heard[256];
	ssize_t n = recv(fd, heard, sizeof(heard) - 1, 0);

	if (!text) {
		assert_int_equal(n, -1);
		return;
	}
	assert_true(n >= 0);
	heard[n] = '\0';
	assert_string_equal(heard, text);
}

static void the_watchdog_hears_in_time(void **state)
{
	int fd = manage();
	struct notify n;

	(void)state;
	setenv("WATCHDOG_USEC", "10000000", 1);
	unsetenv("WATCHDOG_PID");
	notify_init(&n);
	assert_true(notify_is_on(&n));
	notify_send(&n, "READY=1\nSTATUS=x");
	assert_hears(fd, "READY=1\nSTATUS=x");
	for (uint64_t t = 100; t < 105; t++)
		notify_round(&n, t * S);
	assert_hears(fd, "WATCHDOG=1");
	assert_hears(fd, NULL);
	notify_round(&n, 105 * S);
	assert_hears(fd, "WATCHDOG=1");
	notify_fini(&n);
	close(fd);
}

static void another_process_is_watched_not_this_one(void **state)
{
	int fd = manage();
	struct notify n;

	(void)state;
	setenv("WATCHDOG_USEC", "10000000", 1);
	setenv("WATCHDOG_PID", "1", 1);
	notify_init(&n);
	notify_round(&n, 100 * S);
	assert_hears(fd, NULL);
	notify_fini(&n);
	close(fd);
}

static void a_manager_that_is_gone_or_full_stops_nothing(void **state)
{
	int fd = manage();
	struct notify n;

	(void)state;
	notify_init(&n);
	for (int i = 0; i < 10000; i++)
		notify_send(&n, "STATUS=x");
	close(fd);
	notify_send(&n, "STOPPING=1");
	notify_fini(&n);
}

static void without_a_manager_nothing_is_sent(void **state)
{
	static const char *const names[] = { "", "relative", "/no/such/socket" };
	struct notify n;

	(void)state;
	log_set_level(LOG_QUIET);
	for (size_t i = 0; i < 3; i++) {
		setenv("NOTIFY_SOCKET", names[i], 1);
		notify_init(&n);
		assert_false(notify_is_on(&n));
		notify_send(&n, "READY=1");
		notify_round(&n, S);
		notify_fini(&n);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_watchdog_hears_in_time),
		cmocka_unit_test(another_process_is_watched_not_this_one),
		cmocka_unit_test(a_manager_that_is_gone_or_full_stops_nothing),
		cmocka_unit_test(without_a_manager_nothing_is_sent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
