/*
 * Tables of figures, written as text, Markdown and JSON; and how much of a multiprocessor a kernel
 * fills.
 */
#include "tests/unit/unit.h"

#include <string.h>

#include "core/base/buffer.h"
#include "core/profile/facts.h"
#include "output/report/grid.h"
#include "output/report/occupancy.h"

static const struct grid_column columns[] = {
	{ "name", "Name", true },
	{ "ns", "Time", false },
	{ "id", NULL, false },
	{ NULL, "Share", false },
};

static void fill(struct grid *g)
{
	grid_init(g, columns, 4);
	grid_text(g, "a|b <i>\"*");
	grid_time(g, 1500);
	grid_count(g, 7);
	grid_share(g, 1, 3);
	grid_path(g, "child", 1);
	grid_none(g);
	grid_count(g, 8);
	grid_share(g, 2, 3);
}

static void text_is_aligned_and_says_what_it_left_out(void **state)
{
	struct buffer b = { 0 };
	struct grid g;

	(void)state;
	fill(&g);
	grid_write_text(&b, &g, 0);
	assert_string_equal(buffer_cstring(&b), "Name          Time  Share\n"
						"a|b <i>\"*  1.50 us    33%\n"
						"  child          -    67%\n");
	b.size = 0;
	grid_write_text(&b, &g, 1);
	assert_string_equal(buffer_cstring(&b), "Name          Time  Share\n"
						"a|b <i>\"*  1.50 us    33%\n"
						"1 more row (-n 0 shows all)\n");
	buffer_fini(&b);
	grid_fini(&g);
}

/* Columns: a name of a function, one without any content, a figure, a text. */
static void fill_names(struct grid *g, size_t width)
{
	static const struct grid_column names[] = {
		{ NULL, "Name", true },
		{ "empty", "Empty", false },
		{ "time", "Time", false },
		{ NULL, "Source", true },
	};
	static const char *const spare[] = { "time", NULL };

	grid_init(g, names, 4);
	g->spare = spare;
	g->max_width = width;
	g->color = true;
	grid_name(g, "std::vector<int>::push_back(int)", FUNCTION_NATIVE, 10, "+ ");
	grid_cell(g);
	grid_time(g, 1500);
	buffer_add_string(grid_last_cell(g), "int i;");
	grid_style_row(g, "\033[1m");
	grid_name(g, "f", FUNCTION_NATIVE, 0, "");
	grid_style(g, "\033[34m");
	buffer_add_string(grid_last_cell(g), "return a + b;");
}

static void assert_written(size_t width, const char *text)
{
	struct buffer b = { 0 };
	struct grid g;

	fill_names(&g, width);
	grid_write_text(&b, &g, 0);
	assert_string_equal(buffer_cstring(&b), text);
	buffer_fini(&b);
	grid_fini(&g);
}

static void a_narrow_terminal_has_fewer_columns_less_indentation_and_short_names(void **state)
{
	(void)state;
	assert_written(0,
		       "\033[1mName                                           Time  Source\033[0m\n"
		       "\033[1m        + std::vector<int>::push_back(int)  1.50 us  int i;\033[0m\n"
		       "\033[34mf\033[0m                                                    return "
		       "a + b;\n");
	assert_written(48, "\033[1mName                         Time  Source\033[0m\n"
			   "\033[1m        + push_back       1.50 us  int i;\033[0m\n"
			   "\033[34mf\033[0m                                  return a + b;\n");
	assert_written(34, "\033[1mName                 Source\033[0m\n"
			   "\033[1m   + push_back       int i;\033[0m\n"
			   "\033[34mf\033[0m                    return a + b;\n");
}

/* A list: names, details and sentences. */
static void assert_list(size_t width, bool details, const char *text)
{
	static const struct grid_column columns_of_list[] = {
		{ NULL, "", true },
		{ NULL, "", true },
		{ NULL, "", true },
	};
	struct buffer b = { 0 };
	struct grid g;

	grid_init(&g, columns_of_list, 3);
	g.max_width = width;
	g.indent = 2;
	g.folds = true;
	grid_text(&g, "pprof");
	grid_text(&g, details ? ".pb.gz" : "");
	grid_text(&g, "one two,three four");
	grid_text(&g, "csv");
	grid_text(&g, "");
	grid_text(&g, "supercalifragilistic");
	grid_write_text(&b, &g, 0);
	assert_string_equal(buffer_cstring(&b), text);
	buffer_fini(&b);
	grid_fini(&g);
}

static void
sentences_go_on_below_themselves_and_without_headings_there_is_no_line_of_them(void **state)
{
	(void)state;
	assert_list(0, true,
		    "  pprof  .pb.gz  one two,three four\n"
		    "  csv            supercalifragilistic\n");
	assert_list(27, true,
		    "  pprof  .pb.gz  one two,\n"
		    "                 three four\n"
		    "  csv            supercalifragilistic\n");
	assert_list(18, false,
		    "  pprof  one two,\n"
		    "         three\n"
		    "         four\n"
		    "  csv    supercalifragilistic\n");
	assert_list(3, false,
		    "  pprof  one\n"
		    "         two,\n"
		    "         three\n"
		    "         four\n"
		    "  csv    supercalifragilistic\n");
}

static void seconds_are_rounded_to_what_is_asked_for(void **state)
{
	static const struct grid_column seconds[] = { { "ns", "s", false } };
	struct buffer b = { 0 };
	struct grid g;

	(void)state;
	grid_init(&g, seconds, 1);
	grid_seconds(&g, 1240500000, 3);
	grid_seconds(&g, 999999, 6);
	grid_seconds(&g, 0, 3);
	grid_seconds(&g, 61000000001, 9);
	grid_write_text(&b, &g, 0);
	assert_string_equal(buffer_cstring(&b), "           s\n       1.241\n    0.001000\n"
						"       0.000\n61.000000001\n");
	b.size = 0;
	grid_write_json(&b, &g, 2);
	assert_string_equal(buffer_cstring(&b), "[\n{\"ns\": 1240500000},\n{\"ns\": 999999}\n]");
	buffer_fini(&b);
	grid_fini(&g);
}

static void markdown_takes_no_name_for_markup(void **state)
{
	struct buffer b = { 0 };
	struct grid g;

	(void)state;
	fill(&g);
	grid_write_markdown(&b, &g, 0);
	assert_string_equal(buffer_cstring(&b), "| Name         |    Time | Share |\n"
						"| ------------ | ------: | ----: |\n"
						"| a\\|b \\<i>\"\\* | 1.50 us |   33% |\n"
						"| \xc2\xa0\xc2\xa0"
						"child      |       - |   67% |\n");
	buffer_fini(&b);
	grid_fini(&g);
}

/* Underscores within a word are no markup, and stay readable in the text. */
static void markdown_leaves_underscores_in_names(void **state)
{
	static const struct grid_column one[] = { { "name", "Name", true } };
	struct buffer b = { 0 };
	struct grid g;

	(void)state;
	grid_init(&g, one, 1);
	grid_text(&g, "__init__");
	grid_text(&g, "a_b");
	grid_text(&g, "_x y_");
	grid_text(&g, "~Foo");
	grid_write_markdown(&b, &g, 0);
	assert_string_equal(buffer_cstring(&b), "| Name         |\n"
						"| ------------ |\n"
						"| \\_\\_init\\_\\_ |\n"
						"| a_b          |\n"
						"| \\_x y\\_      |\n"
						"| \\~Foo        |\n");
	buffer_fini(&b);
	grid_fini(&g);
}

static void json_has_values_as_they_are(void **state)
{
	struct buffer b = { 0 };
	struct grid g;

	(void)state;
	fill(&g);
	grid_write_json(&b, &g, 0);
	assert_string_equal(buffer_cstring(&b),
			    "[\n{\"name\": \"a|b <i>\\\"*\", \"ns\": 1500, \"id\": 7},\n"
			    "{\"name\": \"child\", \"ns\": null, \"id\": 8}\n]");
	buffer_fini(&b);
	grid_fini(&g);
}

/* Expected values are those of the CUDA Occupancy Calculator for compute capability 9.0. */
static void occupancy_is_that_of_the_scarcest_resource(void **state)
{
	static const struct {
		uint64_t threads, registers, shared;
		unsigned percent;
	} expected[] = {
		{ 1024, 32, 0, 100 },			      /* warps */
		{ 256, 32, 0, 100 },  { 32, 16, 0, 50 },      /* 32 blocks */
		{ 256, 128, 0, 25 },			      /* registers: 2 blocks of 8 warps */
		{ 256, 255, 0, 12 },  { 256, 32, 65536, 37 }, /* shared memory: 3 blocks */
		{ 1024, 255, 0, 0 },			      /* does not fit at all */
	};
	const struct fact_gpu_device h100 = {
		.cc_major = 9,
		.warp_threads = 32,
		.max_warps_per_sm = 64,
		.max_blocks_per_sm = 32,
		.max_registers_per_sm = 65536,
		.max_shared_per_sm = 233472,
	};
	struct fact_gpu_work kernel = { .block = { 0, 1, 1 } };
	struct fact_gpu_device unknown = { 0 };
	unsigned percent;

	(void)state;
	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
		kernel.block[0] = expected[i].threads;
		kernel.registers = expected[i].registers;
		kernel.shared_dynamic = expected[i].shared;
		assert_true(occupancy_percent(&h100, &kernel, &percent));
		assert_int_equal(percent, expected[i].percent);
	}
	assert_false(occupancy_percent(&unknown, &kernel, &percent));
	kernel.block[0] = UINT64_MAX;
	assert_false(occupancy_percent(&h100, &kernel, &percent));
}

/* 132 multiprocessors of 64 warps hold 8448. */
static void occupancy_of_a_small_grid_is_what_it_has(void **state)
{
	static const struct {
		uint64_t grid[3], threads, registers;
		unsigned ppm;
	} expected[] = {
		{ { 10, 1, 1 }, 128, 35, 4734 },     /* 40 warps; 75 % would fit */
		{ { 10, 1, 1 }, 33, 32, 2367 },	     /* two warps each: one has a single thread */
		{ { 132, 16, 1 }, 128, 35, 750000 }, /* 12 blocks of each 16 fit */
		{ { 1u << 31, 65535, 2 }, 256, 32, 1000000 },
		{ { 1, 1, 1 }, 1024, 255, 0 }, /* does not fit at all */
	};
	const struct fact_gpu_device h100 = {
		.cc_major = 9,
		.nr_sms = 132,
		.warp_threads = 32,
		.max_warps_per_sm = 64,
		.max_blocks_per_sm = 32,
		.max_registers_per_sm = 65536,
		.max_shared_per_sm = 233472,
	};
	const struct fact_gpu_device without_sms = { .warp_threads = 32, .max_warps_per_sm = 64 };
	struct fact_gpu_activity kernel = { .block = { 0, 1, 1 } };
	unsigned ppm;

	(void)state;
	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
		memcpy(kernel.grid, expected[i].grid, sizeof(kernel.grid));
		kernel.block[0] = expected[i].threads;
		kernel.registers = expected[i].registers;
		assert_true(occupancy_of_launch(&h100, &kernel, &ppm));
		assert_int_equal(ppm, expected[i].ppm);
	}
	assert_false(occupancy_of_launch(&without_sms, &kernel, &ppm));
	kernel.grid[1] = 0;
	assert_false(occupancy_of_launch(&h100, &kernel, &ppm));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_is_aligned_and_says_what_it_left_out),
		cmocka_unit_test(
			a_narrow_terminal_has_fewer_columns_less_indentation_and_short_names),
		cmocka_unit_test(
			sentences_go_on_below_themselves_and_without_headings_there_is_no_line_of_them),
		cmocka_unit_test(seconds_are_rounded_to_what_is_asked_for),
		cmocka_unit_test(markdown_takes_no_name_for_markup),
		cmocka_unit_test(markdown_leaves_underscores_in_names),
		cmocka_unit_test(json_has_values_as_they_are),
		cmocka_unit_test(occupancy_is_that_of_the_scarcest_resource),
		cmocka_unit_test(occupancy_of_a_small_grid_is_what_it_has),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
