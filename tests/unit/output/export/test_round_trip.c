/*
 * Exports random profiles in each format that sprof both writes and reads, imports them again, and
 * compares them with the list of names and weights that they were made from.
 */
#include "tests/unit/unit.h"

#include "core/base/buffer.h"
#include "core/base/log.h"
#include "output/export/exporter.h"
#include "output/codec/gzip.h"
#include "output/import/importer.h"
#include "tests/unit/random_profile.h"

enum { QUICK = 3000, FULL = 10000 };

static struct profile *through(const struct profile *p, const char *format)
{
	struct buffer out = { 0 }, expanded = { 0 };
	struct profile *again = NULL;
	const struct importer *importer;
	FILE *f;

	assert_int_equal(exporter_find(format)->write(&out, p), 0);
	if (gzip_is(out.data, out.size)) {
		assert_int_equal(gzip_expand(&expanded, out.data, out.size, 1 << 30), 0);
		buffer_fini(&out);
		out = expanded;
	}
	importer = importer_detect(out.data, out.size, "x");
	assert_string_equal(importer->name, format);
	f = fmemopen(out.data, out.size, "rb");
	assert_int_equal(importer->read(f, "x", &(struct import_opts){ 0 }, &again), 0);
	fclose(f);
	buffer_fini(&out);
	return again;
}

static void round_trips(const char *format)
{
	static struct plain_profile plain;
	static struct plain_lines want;
	int nr = getenv("SPROF_TEST_FULL") ? FULL : QUICK;

	for (int i = 0; i < nr; i++) {
		struct profile *p = plain_make(&plain, rng(2)), *once, *twice;

		want.nr = 0;
		for (unsigned j = 0; j < plain.nr; j++)
			plain_lines_add_sample(&want, &plain.samples[j]);
		once = through(p, format);
		plain_assert_profile(once, &want);
		assert_int_equal(once->nr_samples, p->nr_samples);
		if (i % 10 == 0) {
			twice = through(once, format);
			plain_assert_profile(twice, &want);
			assert_int_equal(twice->nr_samples, p->nr_samples);
			profile_free(twice);
		}
		profile_free(p);
		profile_free(once);
	}
}

static void pprof_comes_back_as_it_was(void **state)
{
	(void)state;
	round_trips("pprof");
}

static void speedscope_comes_back_as_it_was(void **state)
{
	(void)state;
	round_trips("speedscope");
}

/* Checks addresses, build-ids and threads, which the tree does not show. */
static void pprof_keeps_addresses_and_threads(void **state)
{
	static struct plain_profile plain;

	(void)state;
	for (int i = 0; i < 300; i++) {
		struct profile *p = plain_make(&plain, true), *again = through(p, "pprof");
		uint64_t sums[2][2] = { { 0 } };

		for (int k = 0; k < 2; k++) {
			const struct profile *q = k ? again : p;

			for (size_t j = 0; j < q->nr_samples; j++) {
				const struct profile_sample *s = &q->samples[j];
				const struct profile_stack *stack = &q->stacks[s->stack];
				const struct profile_thread *t = &q->threads[s->thread];

				sums[k][0] += s->weight * (t->pid * 1000 + t->tid);
				for (uint32_t n = 0; n < stack->nr_frames; n++) {
					const struct profile_frame *f =
						&q->frames[q->stack_frames[stack->first_frame + n]];
					const struct profile_module *m = &q->modules[f->module];

					sums[k][1] += s->weight * (n + 1) * f->address *
						      (m->build_id_size * 31u + m->build_id[0] +
						       m->kind + m->pid);
				}
			}
		}
		assert_int_equal(sums[0][0], sums[1][0]);
		assert_int_equal(sums[0][1], sums[1][1]);
		profile_free(p);
		profile_free(again);
	}
}

/*
 * Every column is exported as a value of its own and imported into the same column; but for the
 * lifetimes of freed blocks, which are shown nowhere.
 */
static void pprof_keeps_columns_apart(void **state)
{
	struct profile *p = profile_new(), *again;
	uint32_t frame = profile_named_frame(p, "f", 1, FUNCTION_NATIVE);
	uint64_t sums[NR_COLUMNS] = { 0 };

	(void)state;
	for (int c = 0; c < NR_COLUMNS; c++)
		for (int i = 0; i < 3; i++)
			profile_add_sample(p, &(struct profile_sample){
						      .weight = 10u + (unsigned)c,
						      .thread = PROFILE_NONE,
						      .stack = profile_stack(p, &frame, 1),
						      .column = (uint8_t)c,
					      });
	for (int format = 0; format < 2; format++) {
		memset(sums, 0, sizeof(sums));
		again = through(p, format ? "speedscope" : "pprof");
		for (size_t i = 0; i < again->nr_samples; i++)
			sums[again->samples[i].column] += again->samples[i].weight;
		for (unsigned c = 0; c < NR_COLUMNS; c++)
			assert_int_equal(sums[c], c == COLUMN_LIFETIME ? 0 : 3 * (10 + c));
		profile_free(again);
	}
	profile_free(p);
}

static void a_marker_and_an_inlined_name_come_back(void **state)
{
	static const char text[] =
		"a;b_[i];[no unwind rule] 5\na;k_[k];j_[j];g_[g] 7\n[libx.so];c 1\n";
	static const char *const formats[] = { "pprof", "speedscope" };
	FILE *f = fmemopen((void *)text, strlen(text), "r");
	struct profile *p = NULL;
	struct buffer want = { 0 };

	(void)state;
	assert_int_equal(importer_detect(text, strlen(text), "x")
				 ->read(f, "x", &(struct import_opts){ 0 }, &p),
			 0);
	fclose(f);
	exporter_find("collapsed")->write(&want, p);
	for (int i = 0; i < 2; i++) {
		struct profile *again = through(p, formats[i]);
		struct buffer got = { 0 };

		exporter_find("collapsed")->write(&got, again);
		assert_string_equal(buffer_cstring(&got), buffer_cstring(&want));
		buffer_fini(&got);
		profile_free(again);
	}
	buffer_fini(&want);
	profile_free(p);
}

/* Two functions of one name, in files of one name, in different folders. */
static void files_of_equal_base_names_stay_apart(void **state)
{
	static const char *const paths[] = { "/a/__init__.py", "/b/__init__.py" };
	static const char *const formats[] = { "pprof", "speedscope" };
	struct profile *p = profile_new();

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		bool python = i < 2;
		uint32_t name = profile_cstring(p, "f"), path = profile_cstring(p, paths[i % 2]),
			 frame;
		struct profile_module m = { .kind = python ? MODULE_PYTHON : MODULE_ELF,
					    .path = path,
					    .code_name = python ? name : 0 };
		uint32_t module = profile_module(p, &m);
		struct profile_location l = {
			.function = profile_function(
				p,
				&(struct profile_function){
					.name = name,
					.system_name = name,
					.module = module,
					.file = python ? path : 0,
					.kind = python ? FUNCTION_PYTHON : FUNCTION_NATIVE,
				}),
		};

		frame = profile_frame(p, module, 1);
		profile_set_locations(p, frame, &l, 1);
		profile_add_sample(p, &(struct profile_sample){
					      .weight = 1 + i,
					      .thread = PROFILE_NONE,
					      .stack = profile_stack(p, &frame, 1),
				      });
	}
	for (int i = 0; i < 2; i++) {
		struct profile *again = through(p, formats[i]);
		struct tree *tree;

		assert_int_equal(tree_new(again, &(struct tree_opts){ 0 }, &tree), 0);
		assert_int_equal(tree->nr_nodes, 5);
		for (uint32_t n = 1; n < 5; n++)
			assert_string_equal(tree_function_of(tree, n)->module, "__init__.py");
		tree_free(tree);
		profile_free(again);
	}
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pprof_comes_back_as_it_was),
		cmocka_unit_test(speedscope_comes_back_as_it_was),
		cmocka_unit_test(pprof_keeps_addresses_and_threads),
		cmocka_unit_test(pprof_keeps_columns_apart),
		cmocka_unit_test(files_of_equal_base_names_stay_apart),
		cmocka_unit_test(a_marker_and_an_inlined_name_come_back),
	};

	log_set_level(LOG_QUIET);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
