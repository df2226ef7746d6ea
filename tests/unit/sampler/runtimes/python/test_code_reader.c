/*
 * Records of code objects are decoded by a child without rights. A child that dies costs the names
 * that it was asked for, and an answer that makes no sense is refused.
 */
#include "tests/unit/unit.h"
#include "tests/unit/child.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/portable/pycode.h"
#include "core/profile/profile.h"
#include "core/profile/source.h"
#include "core/sandbox/sandbox.h"
#include "sampler/runtimes/python/code_decode.h"
#include "sampler/runtimes/python/code_objects.h"
#include "sampler/runtimes/python/code_reader.h"
#include "sampler/runtimes/python/line_table.h"

static struct sandbox *sandbox;

static int set_up(void **state)
{
	(void)state;
	return sandbox_new(&sandbox);
}

static int tear_down(void **state)
{
	(void)state;
	sandbox_free(sandbox);
	return 0;
}

static void set_string(struct code_string *s, const char *text)
{
	s->size = (uint16_t)strlen(text);
	s->form = 1 | CODE_STRING_ASCII;
	memcpy(s->text, text, strlen(text));
}

/* A function of two lines, 7 and 8, of CPython 3.10. */
static size_t fill(struct code_record *r, uint64_t id, const char *name)
{
	static const uint8_t table[] = { 2, 0, 2, 1 };

	memset(r, 0, sizeof(*r));
	r->id = id;
	r->minor = 10;
	r->first_line = 7;
	r->linetable_size = r->linetable_copied = sizeof(table);
	set_string(&r->name, name);
	set_string(&r->file, "/srv/app.py");
	memcpy(r + 1, table, sizeof(table));
	return sizeof(*r) + sizeof(table);
}

static void add(struct python_codes *codes, uint64_t group, uint64_t id, const char *name)
{
	struct code_record *r = xcalloc(1, sizeof(*r) + 64);
	size_t size = fill(r, id, name);

	assert_true(python_codes_add(codes, group, r, size));
	free(r);
}

static uint64_t word(uint64_t id, uint64_t position)
{
	return FRAME_PYTHON | id << CODE_POSITION_BITS | position / 2;
}

/* The name of a frame's function in a profile. */
static const char *name_of(const struct profile *p, uint32_t frame)
{
	return profile_str(p, p->modules[p->frames[frame].module].code_name);
}

static void a_child_says_what_this_process_says(void **state)
{
	struct code_reader *reader = code_reader_new(sandbox);
	struct code_record *r = xcalloc(1, sizeof(*r) + 64);
	size_t size = fill(r, 3, "work");
	const struct code_bytes question = { r, size };
	struct decoded_code here, there;

	(void)state;
	assert_int_equal(code_reader_read(NULL, 1, &question, 1, &here), 0);
	assert_int_equal(code_reader_read(reader, 1, &question, 1, &there), 0);
	assert_true(child_of(child_of(getpid())) > 0);
	assert_int_equal(there.name_size, 4);
	assert_memory_equal(there.name, "work", 4);
	assert_int_equal(there.file_size, here.file_size);
	assert_memory_equal(there.file, here.file, here.file_size);
	assert_int_equal(there.nr_runs, 2);
	assert_memory_equal(there.runs, here.runs, 2 * sizeof(*here.runs));
	decoded_code_fini(&here);
	decoded_code_fini(&there);
	code_reader_free(reader);
	free(r);
}

static void a_frame_has_the_line_that_a_child_decoded(void **state)
{
	struct code_reader *reader = code_reader_new(sandbox);
	struct python_codes *codes = python_codes_new(reader);
	struct profile *p = profile_new();
	struct sink *sink = profile_sink_new(p);
	uint32_t frame;

	(void)state;
	for (uint64_t id = 1; id <= 40; id++)
		add(codes, 1, id, "work");
	for (uint64_t id = 40; id; id--) {
		frame = python_codes_frame(codes, sink, word(id, 2));
		assert_string_equal(name_of(p, frame), "work");
		assert_int_equal(p->frames[frame].address, 8);
	}
	profile_sink_free(sink);
	profile_free(p);
	python_codes_free(codes);
	code_reader_free(reader);
}

static void each_process_has_a_child_of_its_own(void **state)
{
	struct code_reader *reader = code_reader_new(sandbox);
	struct python_codes *codes = python_codes_new(reader);
	struct profile *p = profile_new();
	struct sink *sink = profile_sink_new(p);
	pid_t first;

	(void)state;
	add(codes, 1, 1, "one");
	add(codes, 2, 2, "two");
	python_codes_frame(codes, sink, word(1, 0));
	first = child_of(child_of(getpid()));
	assert_int_equal(kill(first, SIGSTOP), 0); /* as one that was taken over may be */
	assert_string_equal(name_of(p, python_codes_frame(codes, sink, word(2, 0))), "two");
	profile_sink_free(sink);
	profile_free(p);
	python_codes_free(codes);
	code_reader_free(reader);
	kill(first, SIGKILL);
}

static void a_child_that_dies_is_replaced(void **state)
{
	struct code_reader *reader = code_reader_new(sandbox);
	struct python_codes *codes = python_codes_new(reader);
	struct profile *p = profile_new();
	struct sink *sink = profile_sink_new(p);

	(void)state;
	add(codes, 1, 1, "one");
	python_codes_frame(codes, sink, word(1, 0));
	add(codes, 1, 2, "two");
	add(codes, 1, 3, "three");
	assert_int_equal(kill(child_of(child_of(getpid())), SIGKILL), 0);
	assert_string_equal(name_of(p, python_codes_frame(codes, sink, word(2, 0))), "two");
	assert_string_equal(name_of(p, python_codes_frame(codes, sink, word(3, 0))), "three");
	profile_sink_free(sink);
	profile_free(p);
	python_codes_free(codes);
	code_reader_free(reader);
}

static void without_children_names_are_markers(void **state)
{
	struct code_reader *reader = code_reader_new(sandbox);
	struct python_codes *codes = python_codes_new(reader);
	struct profile *p = profile_new();
	struct sink *sink = profile_sink_new(p);
	pid_t starter = child_of(getpid());
	siginfo_t ended;

	(void)state;
	for (uint64_t id = 1; id <= 3; id++)
		add(codes, 1, id, "work");
	assert_int_equal(kill(starter, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)starter, &ended, WEXITED | WNOWAIT), 0);
	for (uint64_t id = 1; id <= 3; id++) {
		uint32_t frame = python_codes_frame(codes, sink, word(id, 0));

		assert_string_equal(name_of(p, frame), PYTHON_UNREADABLE);
		assert_int_equal(p->frames[frame].address, 0);
	}
	profile_sink_free(sink);
	profile_free(p);
	python_codes_free(codes);
	code_reader_free(reader);
}

static void answers_that_make_no_sense_are_refused(void **state)
{
	struct code_record *r = xcalloc(1, sizeof(*r) + 64);
	size_t size = fill(r, 3, "work");
	struct decoded_code code;
	struct buffer b = { 0 };
	uint32_t word;

	(void)state;
	code_decode(r, size, &b);
	assert_int_equal(decoded_code_take(b.data, b.size, &code), b.size);
	decoded_code_fini(&code);
	for (size_t cut = 0; cut < b.size; cut++)
		assert_int_equal(decoded_code_take(b.data, cut, &code), 0);
	/* sizes above their limits, and runs whose ends do not ascend */
	for (size_t at = 0; at < 12; at += 4) {
		struct buffer bad = { 0 };

		buffer_add(&bad, b.data, b.size);
		buffer_reserve(&bad, DECODED_MAX);
		memset(bad.data + bad.size, 0, DECODED_MAX);
		word = CODE_TEXT_MAX + CODE_RUNS_MAX;
		memcpy(bad.data + at, &word, 4);
		assert_int_equal(decoded_code_take(bad.data, b.size + DECODED_MAX, &code), 0);
		buffer_fini(&bad);
	}
	memset(b.data + b.size - sizeof(struct line_run), 0, 4);
	assert_int_equal(decoded_code_take(b.data, b.size, &code), 0);
	buffer_fini(&b);
	free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_child_says_what_this_process_says, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_frame_has_the_line_that_a_child_decoded, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(each_process_has_a_child_of_its_own, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_child_that_dies_is_replaced, set_up, tear_down),
		cmocka_unit_test_setup_teardown(without_children_names_are_markers, set_up,
						tear_down),
		cmocka_unit_test(answers_that_make_no_sense_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
