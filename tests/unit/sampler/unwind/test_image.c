/*
 * The search table of sampler/unwind/image.c against the list of all FDEs of real files: it leads
 * to the same function at each address.
 */
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "sampler/unwind/eh_frame.h"
#include "sampler/unwind/image.h"
#include "sampler/unwind/text_ranges.h"

struct file {
	struct unwind_image image;
	struct text_ranges ranges;
	uint64_t eh_frame;
	int fd;
};

static void open_file(struct file *f, const char *path)
{
	struct eh_frame frame;
	struct eh_reader reader;

	f->fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(f->fd >= 0);
	assert_int_equal(unwind_image_open(&f->image, f->fd), 0);
	assert_int_equal(unwind_image_load_eh_frame(&f->image, &frame), 0);
	assert_int_equal(text_ranges_init(&f->ranges, &f->image), 0);
	eh_reader_init(&reader, &frame);
	text_ranges_collect(&f->ranges, &reader, 0);
	text_ranges_sort(&f->ranges);
	f->eh_frame = frame.vaddr;
	eh_reader_fini(&reader);
	free((void *)frame.data);
}

static void close_file(struct file *f)
{
	text_ranges_fini(&f->ranges);
	unwind_image_close(&f->image);
	close(f->fd);
}

static void expect(const struct file *f, const struct fde_header *h, uint64_t vaddr)
{
	const struct text_range *range = text_ranges_find(&f->ranges, vaddr);
	uint64_t start, end, fde;
	bool found = fde_header_find(h, &f->image, vaddr, &start, &end, &fde);

	if (!range) {
		assert_false(found);
		return;
	}
	assert_true(found);
	assert_int_equal(start, f->ranges.low + range->start);
	assert_int_equal(end, start + range->length);
	assert_int_equal(fde, f->eh_frame + range->fde);
}

static void the_table_leads_to_the_fde_of_each_address(void **state)
{
	static const char *const paths[] = { "/proc/self/exe", "/lib/x86_64-linux-gnu/libc.so.6" };

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		struct fde_header h;
		struct file f;

		if (access(paths[i], R_OK))
			continue;
		open_file(&f, paths[i]);
		assert_int_equal(fde_header_open(&h, &f.image), 0);
		assert_true(h.nr > 10);
		for (size_t j = 0; j < f.ranges.nr; j++) {
			uint64_t start = f.ranges.low + f.ranges.ranges[j].start;

			expect(&f, &h, start);
			expect(&f, &h, start + f.ranges.ranges[j].length / 2);
			expect(&f, &h, start + f.ranges.ranges[j].length - 1);
			expect(&f, &h, start + f.ranges.ranges[j].length);
		}
		expect(&f, &h, 0);
		expect(&f, &h, UINT64_MAX);
		close_file(&f);
	}
}

/* Whatever the bytes are, what is found is where the FDE says that it is. */
static void damaged_tables_lead_nowhere_else(void **state)
{
	uint64_t start, end, fde, seed = 1;
	struct file f;
	uint8_t *bytes;
	size_t size;
	off_t length;

	(void)state;
	open_file(&f, "/proc/self/exe");
	length = lseek(f.fd, 0, SEEK_END);
	size = (size_t)length;
	bytes = xmalloc(size);
	assert_int_equal(pread(f.fd, bytes, size, 0), length);
	for (int i = 0; i < 2000; i++) {
		struct unwind_image image;
		struct fde_header h;
		uint64_t at, vaddr;
		uint8_t before;

		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		at = f.image.eh_frame_hdr + (seed >> 33) % (f.image.eh_frame_hdr_size * 2);
		vaddr = f.ranges.low + (seed >> 20) % (f.ranges.high - f.ranges.low);
		if (at >= size)
			continue;
		before = bytes[at];
		bytes[at] = (uint8_t)(seed >> 56);
		if (!unwind_image_open_memory(&image, bytes, size)) {
			if (!fde_header_open(&h, &image) &&
			    fde_header_find(&h, &image, vaddr, &start, &end, &fde))
				assert_true(start <= vaddr && vaddr < end);
			unwind_image_close(&image);
		}
		bytes[at] = before;
	}
	free(bytes);
	close_file(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_table_leads_to_the_fde_of_each_address),
		cmocka_unit_test(damaged_tables_lead_nowhere_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
