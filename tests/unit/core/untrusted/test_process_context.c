/* What processes publish of themselves is read whole or not at all, and bounded. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/untrusted/process_context.h"
#include "tests/targets/otel_context.h"

static bool parse(const struct otel_message *m, size_t max, struct context_resource *r)
{
	return context_resource_parse(m->bytes, m->size, max, r);
}

static void attributes_become_a_list(void **state)
{
	static const char *const pairs[] = {
		"service.name", "shop",	  "service.version", "1,2=3%", "a b", "no key",
		"team",		"x\033y", "empty",	     "",       NULL
	};
	struct otel_message m = otel_payload(pairs);
	struct context_resource r;

	(void)state;
	assert_true(parse(&m, 4096, &r));
	assert_string_equal(r.service, "shop");
	assert_string_equal(buffer_cstring(&r.attributes),
			    "service.version=1%2C2%3D3%25,team=x%1By");
	assert_int_equal(r.nr_left_out, 2);
	context_resource_fini(&r);
	assert_true(parse(&m, 20, &r)); /* room for one of them */
	assert_string_equal(buffer_cstring(&r.attributes), "team=x%1By");
	context_resource_fini(&r);
}

static void a_service_without_a_name_is_none(void **state)
{
	static const char *const pairs[] = { "service.name", "unknown_service:java", NULL };
	struct otel_message m = otel_payload(pairs);
	struct context_resource r;

	(void)state;
	assert_true(parse(&m, 4096, &r));
	assert_null(r.service);
	context_resource_fini(&r);
	assert_true(context_resource_parse(NULL, 0, 4096, &r));
	assert_null(r.service);
	context_resource_fini(&r);
}

static void numbers_are_taken_and_lists_are_not(void **state)
{
	/* AnyValue: true, -2, 0.5, a list, bytes */
	static const struct {
		const char *bytes;
		size_t size;
	} values[] = { { "\x10\1", 2 },
		       { "\x18\376\377\377\377\377\377\377\377\377\1", 11 },
		       { "\x21\0\0\0\0\0\0\340?", 9 },
		       { "\x2a\0", 2 },
		       { "\x3a\1x", 3 } };
	struct otel_message resource = { .size = 0 }, context = { .size = 0 };
	struct context_resource r;

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		struct otel_message pair = { .size = 0 };

		otel_add(&pair, 1, &"abcde"[i], 1);
		otel_add(&pair, 2, values[i].bytes, values[i].size);
		otel_add(&resource, 1, pair.bytes, pair.size);
	}
	otel_add(&context, 1, resource.bytes, resource.size);
	assert_true(parse(&context, 4096, &r));
	assert_string_equal(buffer_cstring(&r.attributes), "a=true,b=-2,c=0.5");
	assert_int_equal(r.nr_left_out, 2);
	context_resource_fini(&r);
}

static void what_is_cut_off_is_no_message(void **state)
{
	static const char *const pairs[] = { "service.name", "shop", "team", "blue", NULL };
	struct otel_message m = otel_payload(pairs);
	struct context_resource r;

	(void)state;
	for (size_t size = 1; size < m.size; size++)
		assert_false(context_resource_parse(m.bytes, size, 4096, &r));
}

/* Starts a child that does this, and waits until it is ready. */
static pid_t start(void (*child)(void *context, int ready), void *context)
{
	int ends[2];
	pid_t pid;
	char byte;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (!pid) {
		child(context, ends[1]);
		_exit(0);
	}
	close(ends[1]);
	assert_int_equal(read(ends[0], &byte, 1), 1);
	close(ends[0]);
	return pid;
}

static void stop(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void ready(int fd)
{
	if (write(fd, "", 1) != 1)
		_exit(1);
}

struct published {
	bool memfd;
	uint32_t version, size; /* size: that the header says; 0: the real one */
	uint64_t published_ns;
};

static void publish(void *context, int fd)
{
	static const char *const pairs[] = { "team", "blue", NULL };
	const struct published *p = context;
	struct otel_message m = otel_payload(pairs);
	struct otel_header *h;

	otel_map(true); /* another one of that name, without anything in it */
	h = otel_map(p->memfd);
	otel_publish(h, p->version, m.bytes, p->size ? p->size : (uint32_t)m.size, p->published_ns);
	ready(fd);
	pause();
}

static int read_it(struct published p, struct buffer *payload)
{
	uint64_t address = 0, published_ns = 0;
	pid_t pid = start(publish, &p);
	int result = process_context_find(pid, &address);

	if (!result) {
		result = process_context_read(pid, address, &published_ns, payload);
		if (result > 0) {
			assert_int_equal(published_ns, p.published_ns);
			assert_int_equal(process_context_read(pid, address, &published_ns, payload),
					 0);
		}
	}
	stop(pid);
	return result;
}

static void a_context_is_found_and_read_once(void **state)
{
	struct buffer payload = { 0 };
	struct context_resource r;

	(void)state;
	assert_int_equal(read_it((struct published){ true, 2, 0, 7 }, &payload), 1);
	assert_true(context_resource_parse(payload.data, payload.size, 4096, &r));
	assert_string_equal(buffer_cstring(&r.attributes), "team=blue");
	context_resource_fini(&r);
	buffer_fini(&payload);
}

static void what_is_no_context_is_not_read(void **state)
{
	struct buffer payload = { 0 };

	(void)state;
	assert_int_equal(read_it((struct published){ true, 1, 0, 7 }, &payload), -ENOENT);
	assert_int_equal(read_it((struct published){ true, 3, 0, 7 }, &payload), -ENOENT);
	assert_int_equal(read_it((struct published){ true, 2, 0, 0 }, &payload), -EAGAIN);
	assert_int_equal(read_it((struct published){ true, 2, UINT32_MAX, 7 }, &payload), -EFBIG);
	assert_int_equal(payload.size, 0);
	buffer_fini(&payload);
}

static void change_all_the_time(void *context, int fd)
{
	static const char *const pairs[2][5] = { { "a", "1", "b", "1", NULL },
						 { "a", "22", "b", "22", NULL } };
	struct otel_message m[2] = { otel_payload(pairs[0]), otel_payload(pairs[1]) };
	struct otel_header *h = otel_map(true);
	char *bytes = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)context;
	for (uint64_t i = 0;; i++) {
		const struct otel_message *now = &m[i % 2];

		/* In place: what a reader has copied before is another message. */
		__atomic_store_n(&h->published_ns, 0, __ATOMIC_SEQ_CST);
		memcpy(bytes, now->bytes, now->size);
		otel_publish(h, 2, bytes, (uint32_t)now->size, i + 1);
		if (!i)
			ready(fd);
		for (volatile int k = 0; k < 2000; k++)
			;
	}
}

static void a_context_that_changes_is_read_whole(void **state)
{
	uint64_t address = 0, published_ns = 0;
	struct buffer payload = { 0 };
	pid_t pid = start(change_all_the_time, NULL);
	int nr_read = 0;

	(void)state;
	assert_int_equal(process_context_find(pid, &address), 0);
	for (int i = 0; i < 20000; i++) {
		struct context_resource r;
		const char *text;

		if (process_context_read(pid, address, &published_ns, &payload) <= 0)
			continue;
		nr_read++;
		assert_true(context_resource_parse(payload.data, payload.size, 4096, &r));
		text = buffer_cstring(&r.attributes);
		assert_true(!strcmp(text, "a=1,b=1") || !strcmp(text, "a=22,b=22"));
		context_resource_fini(&r);
	}
	assert_true(nr_read > 0);
	stop(pid);
	buffer_fini(&payload);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(attributes_become_a_list),
		cmocka_unit_test(a_service_without_a_name_is_none),
		cmocka_unit_test(numbers_are_taken_and_lists_are_not),
		cmocka_unit_test(what_is_cut_off_is_no_message),
		cmocka_unit_test(a_context_is_found_and_read_once),
		cmocka_unit_test(what_is_no_context_is_not_read),
		cmocka_unit_test(a_context_that_changes_is_read_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
