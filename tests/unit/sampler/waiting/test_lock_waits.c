/* Waits for locks are added up in rows, of which no user has all. */
#include "tests/unit/unit.h"

#include <unistd.h>

#include "core/profile/facts.h"
#include "core/profile/source.h"
#include "core/profile/profile.h"
#include "sampler/sink/sample_sink.h"
#include "sampler/waiting/lock_waits.h"

#define NR_LOCKS 70000u /* more than there are rows */
#define LOCK_OF_OTHER 0x1234000u

static void one_user_leaves_rows_for_others(void **state)
{
	struct profile *p = profile_new();
	struct profile_stats stats = { 0 };
	struct sample_sink out;
	struct lock_waits *w = lock_waits_new(NULL);
	struct wait_facts f = { .off_ns = 1000000 };
	const struct fact_lock_wait *rows;
	uint32_t pid = (uint32_t)getpid(), found = 0;
	size_t nr;

	(void)state;
	sample_sink_init(&out, &stats);
	out.sink = profile_sink_new(p);
	for (uint32_t i = 1; i <= NR_LOCKS; i++) {
		f.lock = 8 * i;
		lock_waits_add(w, &out, 1000, pid, PROFILE_NONE, &f, PROFILE_NONE, 1000000,
			       1000000);
	}
	f.lock = LOCK_OF_OTHER;
	lock_waits_add(w, &out, 1001, pid, PROFILE_NONE, &f, PROFILE_NONE, 1000000, 1000000);
	lock_waits_tell(w, &out);
	rows = facts_rows(p, FACT_LOCK_WAIT, &nr);
	for (size_t i = 0; i < nr; i++)
		found += rows[i].address == LOCK_OF_OTHER && rows[i].samples == 1;
	assert_int_equal(found, 1);
	assert_in_range(nr, NR_LOCKS / 4, NR_LOCKS / 2);
	lock_waits_free(w);
	profile_sink_free(out.sink);
	sample_sink_fini(&out);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_user_leaves_rows_for_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
