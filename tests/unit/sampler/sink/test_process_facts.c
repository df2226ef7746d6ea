/*
 * sampler/sink/process_facts.c: what a process belongs to is told once, and is forgotten with it.
 */
#include "tests/unit/unit.h"

#include <unistd.h>

#include "core/profile/source.h"
#include "sampler/sink/process_facts.h"

#define CHILD 4000000 /* no process has this number by itself */

struct fixture {
	struct sink sink; /* first: the hooks cast back */
	struct process_facts *facts;
	int nr_told;
	struct fact_process last;
};

static uint32_t take_string(struct sink *sink, const char *s, size_t length)
{
	(void)sink;
	(void)s;
	return (uint32_t)length;
}

static void take_fact(struct sink *sink, enum fact_kind kind, const void *row)
{
	struct fixture *f = (struct fixture *)sink;

	if (kind != FACT_PROCESS)
		return;
	f->nr_told++;
	f->last = *(const struct fact_process *)row;
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->sink.string = take_string;
	f->sink.fact = take_fact;
	f->facts = process_facts_new();
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	process_facts_free(f->facts);
	free(f);
	return 0;
}

static void a_process_is_told_once_until_it_is_forgotten(void **state)
{
	struct fixture *f = *state;

	process_facts_sampled(f->facts, &f->sink, getpid());
	process_facts_sampled(f->facts, &f->sink, getpid());
	assert_int_equal(f->nr_told, 1);
	assert_int_equal(f->last.parent, getppid());

	process_facts_forget_ended(f->facts, getpid()); /* it has not */
	process_facts_sampled(f->facts, &f->sink, getpid());
	assert_int_equal(f->nr_told, 1);

	process_facts_ended(f->facts, getpid());
	process_facts_sampled(f->facts, &f->sink, getpid());
	assert_int_equal(f->nr_told, 1);
	process_facts_forget_ended(f->facts, getpid());
	process_facts_sampled(f->facts, &f->sink, getpid());
	assert_int_equal(f->nr_told, 2);
}

/* CHILD cannot be read, so what is told of it is what its parent had. */
static void a_number_that_is_used_again_is_not_forgotten(void **state)
{
	struct fixture *f = *state;

	process_facts_sampled(f->facts, &f->sink, getpid());
	process_facts_forked(f->facts, getpid(), CHILD);
	process_facts_ended(f->facts, CHILD);
	process_facts_forked(f->facts, getpid(), CHILD);
	process_facts_forget_ended(f->facts, CHILD);
	process_facts_sampled(f->facts, &f->sink, CHILD);
	assert_int_equal(f->nr_told, 2);
	assert_int_equal(f->last.pid, CHILD);
	assert_int_equal(f->last.parent, getpid());

	process_facts_ended(f->facts, CHILD);
	process_facts_forget_ended(f->facts, CHILD);
	process_facts_sampled(f->facts, &f->sink, CHILD);
	assert_int_equal(f->nr_told, 2);
}

/* Else the looks at processes that are gone would pile up, and be made again and again. */
static void one_that_has_ended_is_not_looked_at_although_the_sink_forgot_all(void **state)
{
	struct fixture *f = *state;

	for (pid_t pid = CHILD; pid < CHILD + 100; pid++)
		process_facts_sampled(f->facts, &f->sink, pid);
	assert_int_equal(process_facts_nr_contexts(f->facts), 100);
	for (pid_t pid = CHILD; pid < CHILD + 50; pid++)
		process_facts_ended(f->facts, pid);
	process_facts_forget(f->facts);
	for (pid_t pid = CHILD + 50; pid < CHILD + 99; pid++)
		process_facts_ended(f->facts, pid);
	for (pid_t pid = CHILD; pid < CHILD + 99; pid++)
		process_facts_forget_ended(f->facts, pid);
	assert_int_equal(process_facts_nr_contexts(f->facts), 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_process_is_told_once_until_it_is_forgotten),
		TEST(a_number_that_is_used_again_is_not_forgotten),
		TEST(one_that_has_ended_is_not_looked_at_although_the_sink_forgot_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
