/*
 * The vdso is mapped by every process and stays. A file that the table builder reads stays until
 * that has its table.
 */
#include "sampler/release/file_release.h"

#include "sampler/target/mapped_file.h"
#include "sampler/target/process.h"

#define SELDOM_NS (10ull * 1000 * 1000 * 1000)
#define OFTEN_NS (1000ull * 1000 * 1000)
#define MANY_ADDED 64 /* in a second */

bool file_release_begin(struct file_release *r, struct file_table *files, uint64_t now)
{
	struct file_refusals refusals;
	uint64_t nr_refused;
	bool often;

	if (now < r->next_ns)
		return false;
	r->next_ns = now + OFTEN_NS;
	refusals = file_table_refusals(files);
	nr_refused = refusals.nr_full + refusals.nr_user_full;
	often = file_table_nr_added(files) >= MANY_ADDED || nr_refused != r->nr_refused ||
		r->nr_released >= MANY_ADDED;
	r->nr_refused = nr_refused;
	if (!often && now < r->seldom_ns)
		return false;
	r->seldom_ns = now + SELDOM_NS;
	r->round++;
	return true;
}

static void mark(uint32_t round, const struct mapping *maps, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		maps[i].code->mark = round;
}

void file_release_mark(const struct file_release *r, const struct process *p)
{
	mark(r->round, p->maps, p->nr_maps);
	for (size_t i = 0; i < p->nr_covered; i++)
		mark(r->round, &p->covered[i].text, 1);
}

void file_release_end(struct file_release *r, struct file_table *files, uint64_t now,
		      void (*on_release)(void *context, struct mapped_file *file), void *context)
{
	uint32_t nr = (uint32_t)file_table_size(files);

	r->nr_released = 0;
	for (uint32_t i = 0; i < nr; i++) {
		struct mapped_file *file = file_table_get(files, i);

		if (file->mark == r->round || file->building || file->kind == MODULE_VDSO ||
		    now < file->hold_until_ns || file_table_is_released(files, i))
			continue;
		on_release(context, file);
		file_table_release(files, file, now);
		r->nr_released++;
	}
	file_table_check_kept(files);
}
