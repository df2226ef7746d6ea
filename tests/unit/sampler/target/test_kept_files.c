/* sampler/target/kept_files.c: files that are kept for their names. */
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "sampler/target/kept_files.h"

static void of_deleted_files_only_some_are_kept_for_their_names(void **state)
{
	struct kept_files *kept = calloc(1, sizeof(*kept));

	(void)state;
	for (uint32_t i = 0; i < 3 * KEPT_DELETED_MAX; i++)
		kept_files_add(kept, (struct kept_file){
					     .sink_id = i,
					     .user = i % 64 ? 1000 : 0,
					     .fd = memfd_create("deleted", MFD_CLOEXEC),
				     });
	assert_int_equal(kept->nr, KEPT_DELETED_MAX);
	assert_int_equal(kept->nr_dropped, 2 * KEPT_DELETED_MAX);
	/* the user with the most loses, and loses the oldest */
	assert_non_null(kept_files_find(kept, 0));
	assert_null(kept_files_find(kept, 1));
	assert_non_null(kept_files_find(kept, 3 * KEPT_DELETED_MAX - 1));
	kept_files_fini(kept);
	free(kept);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_deleted_files_only_some_are_kept_for_their_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
