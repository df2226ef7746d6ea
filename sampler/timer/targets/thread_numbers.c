/*
 * Threads of a process in another PID namespace, such as a container: the code inside uses the
 * numbers that they have there, /proc the numbers that they have here. The line NSpid of a thread's
 * status has both.
 */
#include "sampler/timer/targets/threads.h"

#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/order.h"
#include "core/base/proc_status.h"

bool timer_numbers_differ(pid_t pid)
{
	int nr = 1;

	return proc_status_inner(pid, &nr) && nr > 1;
}

static int by_outer(const void *a, const void *b)
{
	const struct timer_number *x = a, *y = b;

	return ORDER(x->outer, y->outer);
}

static pid_t known_inner(const struct timer_threads *t, pid_t outer)
{
	const struct timer_number key = { outer, 0 };
	const struct timer_number *found;

	if (!t->nr_numbers)
		return 0;
	found = bsearch(&key, t->numbers, t->nr_numbers, sizeof(key), by_outer);
	return found ? found->inner : 0;
}

void timer_renumber(struct timer_threads *t)
{
	struct timer_number *numbers = xmalloc((t->nr_tids + 1) * sizeof(*numbers));
	size_t nr = 0;
	int unused;

	for (size_t i = 0; i < t->nr_tids; i++) {
		pid_t outer = t->tids[i], inner = known_inner(t, outer);

		if (!inner)
			inner = proc_status_inner(outer, &unused);
		if (inner)
			numbers[nr++] = (struct timer_number){ outer, inner };
	}
	qsort(numbers, nr, sizeof(*numbers), by_outer);
	for (size_t i = 0; i < nr; i++)
		t->tids[i] = numbers[i].inner;
	t->nr_tids = nr;
	free(t->numbers);
	t->numbers = numbers;
	t->nr_numbers = nr;
}

pid_t timer_outer(const struct timer_threads *t, pid_t tid)
{
	for (size_t i = 0; i < t->nr_numbers; i++) {
		if (t->numbers[i].inner == tid)
			return t->numbers[i].outer;
	}
	return tid;
}
