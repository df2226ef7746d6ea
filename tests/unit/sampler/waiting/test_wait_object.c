/* sampler/waiting/wait_object.c: what was waited for, in words. */
#include "tests/unit/unit.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "sampler/waiting/wait_object.h"

static void expect(const struct wait_facts *f, enum wait_reason reason, const char *text)
{
	char is[WAIT_OBJECT_SIZE];

	assert_int_equal(wait_object_text(f, reason, "", is, sizeof(is)), text != NULL);
	if (text)
		assert_string_equal(is, text);
}

static void a_socket_is_known_by_its_peer(void **state)
{
	struct wait_facts f = { .file_mode = S_IFSOCK, .family = AF_INET, .port = 5432 };

	(void)state;
	inet_pton(AF_INET, "10.1.2.3", f.address);
	expect(&f, REASON_SOCKET, "10.1.2.3:5432");
	expect(&f, REASON_POLL, "10.1.2.3:5432");
	expect(&f, REASON_SLEEP, NULL);
	f.nr_polled = 3;
	expect(&f, REASON_POLL, "10.1.2.3:5432, the first of 3");
	f.listens = 1;
	expect(&f, REASON_SOCKET, "listens on port 5432");
	f = (struct wait_facts){ .file_mode = S_IFSOCK, .family = AF_INET6, .port = 80 };
	inet_pton(AF_INET6, "2001:db8::1", f.address);
	expect(&f, REASON_SOCKET, "[2001:db8::1]:80");
	inet_pton(AF_INET6, "::ffff:10.1.2.3", f.address);
	expect(&f, REASON_SOCKET, "10.1.2.3:80");
	f = (struct wait_facts){ .file_mode = S_IFSOCK, .family = AF_INET };
	expect(&f, REASON_SOCKET, NULL);
	f = (struct wait_facts){ .file_mode = S_IFSOCK, .family = AF_UNIX, .peer_pid = 12 };
	expect(&f, REASON_SOCKET, "unix, process 12");
	strcpy(f.name, "/run/service");
	expect(&f, REASON_SOCKET, "unix /run/service");
}

static void a_lock_is_known_by_its_address(void **state)
{
	(void)state;
	expect(&(struct wait_facts){ .lock = 0x7f00 }, REASON_LOCK, "lock 0x7f00");
	expect(&(struct wait_facts){ 0 }, REASON_LOCK, NULL);
}

/* A name need not end in its field. */
static void a_long_name_is_not_read_past_its_end(void **state)
{
	struct wait_facts f = { .file_mode = S_IFREG };
	char name[WAIT_NAME_SIZE + 1];

	(void)state;
	memset(f.name, 'x', sizeof(f.name));
	memset(name, 'x', sizeof(f.name));
	name[sizeof(f.name)] = '\0';
	expect(&f, REASON_DISK, name);
	expect(&f, REASON_POLL, name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_socket_is_known_by_its_peer),
		cmocka_unit_test(a_lock_is_known_by_its_address),
		cmocka_unit_test(a_long_name_is_not_read_past_its_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
