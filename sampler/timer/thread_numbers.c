/*
 * Threads of a process in another pid namespace, such as a container: the code inside numbers them as they
 * know themselves, /proc as we do. Both are in the line NSpid of a thread's status.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/timer/timer.h"

#include "core/base/alloc.h"
#include "core/base/proc_status.h"

bool timer_numbers_differ(pid_t pid)
{
	int nr = 1;

	return proc_status_inner(pid, &nr) && nr > 1;
}

static int by_outer(const void *a, const void *b)
{
	const struct timer_number *x = a, *y = b;

	return x->outer < y->outer ? -1 : x->outer > y->outer;
}

static pid_t known_inner(const struct timer_process *p, pid_t outer)
{
	const struct timer_number key = { outer, 0 };
	const struct timer_number *found;

	if (!p->nr_numbers)
		return 0;
	found = bsearch(&key, p->numbers, p->nr_numbers, sizeof(key), by_outer);
	return found ? found->inner : 0;
}

void timer_renumber(struct timer_process *p)
{
	struct timer_number *numbers = xmalloc((p->nr_tids + 1) * sizeof(*numbers));
	size_t nr = 0;
	int unused;

	for (size_t i = 0; i < p->nr_tids; i++) {
		pid_t outer = p->tids[i], inner = known_inner(p, outer);

		if (!inner)
			inner = proc_status_inner(outer, &unused);
		if (inner)
			numbers[nr++] = (struct timer_number){ outer, inner };
	}
	qsort(numbers, nr, sizeof(*numbers), by_outer);
	for (size_t i = 0; i < nr; i++)
		p->tids[i] = numbers[i].inner;
	p->nr_tids = nr;
	free(p->numbers);
	p->numbers = numbers;
	p->nr_numbers = nr;
}

pid_t timer_outer(const struct timer_process *p, pid_t tid)
{
	for (size_t i = 0; i < p->nr_numbers; i++) {
		if (p->numbers[i].inner == tid)
			return p->numbers[i].outer;
	}
	return tid;
}
