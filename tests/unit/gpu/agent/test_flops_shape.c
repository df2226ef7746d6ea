/*
 * Operations by shapes (gpu/agent/flops/shape.c), and what a plan of cuDNN is made from
 * (gpu/agent/flops/cudnn_plan.c), of sizes that no program has.
 */
#include "tests/unit/unit.h"

#include <stdlib.h>

#include "gpu/agent/flops/cudnn_plan.c"
#include "gpu/agent/flops/shape.c"

void *agent_map(size_t bytes)
{
	return calloc(1, bytes);
}

static void products_saturate_and_say_so(void **state)
{
	static const struct {
		int64_t a, b, c, d;
		uint64_t flops;
		bool known, saturated;
	} cases[] = {
		{ 10, 20, 30, 1, 12000, true, false },
		{ 0, 20, 30, 1, 0, true, false },
		{ -1, 20, 30, 1, 0, false, false },
		{ 10, 20, 30, -1, 0, false, false },
		{ INT64_MAX, 1, 1, 1, UINT64_MAX - 1, true, false },
		{ INT64_MAX, 2, 1, 1, UINT64_MAX, true, true },
		{ 1ll << 62, 1ll << 62, 1ll << 62, 1ll << 62, UINT64_MAX, true, true },
		{ INT64_MIN, 1, 1, 1, 0, false, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct shape s = shape_new(GPU_FLOPS_ARGUMENTS, GPU_FLOPS_FP32);

		shape_add(&s, SHAPE_REAL, cases[i].a, cases[i].b, cases[i].c, cases[i].d);
		assert_int_equal(s.known, cases[i].known);
		assert_int_equal(s.saturated, cases[i].saturated);
		assert_true(!s.known || s.flops == cases[i].flops);
	}
}

static void sums_of_groups_saturate_too(void **state)
{
	struct shape s = shape_new(GPU_FLOPS_ARGUMENTS, GPU_FLOPS_FP32);

	(void)state;
	shape_add(&s, SHAPE_REAL, INT64_MAX, 1, 1, 1);
	assert_false(s.saturated);
	shape_add(&s, SHAPE_REAL, 1, 1, 1, 1);
	assert_true(s.saturated);
	assert_true(s.flops == UINT64_MAX);
}

static void types_follow_the_data_and_the_way_it_is_computed(void **state)
{
	static const struct {
		int data, compute, math, type;
	} cases[] = {
		{ CUDA_R_32F, CUBLAS_COMPUTE_32F, 0, GPU_FLOPS_FP32 },
		{ CUDA_R_32F, CUBLAS_COMPUTE_32F, CUBLAS_TF32_TENSOR_OP_MATH, GPU_FLOPS_TF32 },
		/* a flag beside the mode, and a compute type that forbids it */
		{ CUDA_R_32F, CUBLAS_COMPUTE_32F, 16 | 3, GPU_FLOPS_TF32 },
		{ CUDA_R_32F, CUBLAS_COMPUTE_32F_PEDANTIC, 3, GPU_FLOPS_FP32 },
		{ CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_16BF, 0, GPU_FLOPS_BF16 },
		{ CUDA_R_16F, CUBLAS_COMPUTE_16F, 0, GPU_FLOPS_FP16_SUMS },
		{ CUDA_R_16F, CUBLAS_COMPUTE_32F, 0, GPU_FLOPS_FP16 },
		{ CUDA_R_8F_E5M2, CUBLAS_COMPUTE_32F, 0, GPU_FLOPS_FP8 },
		{ CUDA_C_64F, 70, 0, GPU_FLOPS_FP64 },
		{ 1000, -5, 99, GPU_FLOPS_UNKNOWN },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_int_equal(
			shape_type_of_matrix(cases[i].data, cases[i].compute, cases[i].math),
			cases[i].type);
}

static uintptr_t next_descriptor = 0x1000;

static void *made(void)
{
	void *descriptor = (void *)next_descriptor; // NOLINT(performance-no-int-to-ptr)

	next_descriptor += 64;
	cudnn_plan_made(descriptor);
	return descriptor;
}

static void link_to(void *descriptor, int attribute, void *to)
{
	cudnn_plan_set(descriptor, attribute, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &to);
}

static void *tensor(const int64_t *sizes, int64_t nr)
{
	const int data = CUDNN_DATA_BFLOAT16;
	void *t = made();

	cudnn_plan_set(t, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &data);
	cudnn_plan_set(t, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, nr, sizes);
	return t;
}

/* The plan of one product of matrices, of the engine that was asked for by its number. */
static struct shape plan_of(const int64_t *a, const int64_t *c, int64_t nr)
{
	void *operation = made(), *graph = made(), *engine = made(), *config = made(),
	     *plan = made();

	link_to(operation, CUDNN_ATTR_OPERATION_MATMUL_ADESC, tensor(a, nr));
	link_to(operation, CUDNN_ATTR_OPERATION_MATMUL_CDESC, tensor(c, nr));
	link_to(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, operation);
	link_to(engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph);
	link_to(config, CUDNN_ATTR_ENGINECFG_ENGINE, engine);
	link_to(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
	return cudnn_plan_shape(plan);
}

static void a_plan_has_the_operations_of_its_graph(void **state)
{
	static const int64_t a[] = { 6, 10, 20 }, c[] = { 6, 10, 30 }, none[] = { 6, 10, -1 },
			     huge[] = { 1ll << 62, 1ll << 62, 4 };
	struct shape s;

	(void)state;
	s = plan_of(a, c, 3);
	assert_true(s.known && !s.saturated);
	assert_int_equal(s.flops, 2 * 6 * 10 * 30 * 20);
	assert_int_equal(s.type, GPU_FLOPS_BF16);
	assert_false(plan_of(a, none, 3).known);
	assert_false(plan_of(a, c, 100000).known);
	s = plan_of(a, huge, 3);
	assert_true(s.known && s.saturated);
	assert_true(s.flops == UINT64_MAX);
	assert_false(cudnn_plan_shape(NULL).known);
	assert_false(cudnn_plan_shape(&s).known);
}

/* An address that comes back is another descriptor, of which nothing is known. */
static void a_descriptor_is_forgotten_when_it_is_destroyed(void **state)
{
	static const int64_t a[] = { 6, 10, 20 };
	void *plan = made(), *t = tensor(a, 3), *operation = made();

	(void)state;
	cudnn_plan_gone(t);
	link_to(operation, CUDNN_ATTR_OPERATION_MATMUL_ADESC, t);
	link_to(operation, CUDNN_ATTR_OPERATION_MATMUL_CDESC, t);
	link_to(plan, CUDNN_ATTR_OPERATIONGRAPH_OPS, operation);
	assert_false(cudnn_plan_shape(plan).known);
	cudnn_plan_made(plan);
	assert_false(cudnn_plan_shape(plan).known);
	/* more than there is room for: no memory is written that is not the table's */
	for (uint32_t i = 0; i < 2 * ENTRIES; i++)
		made();
	assert_false(cudnn_plan_shape(made()).known);
}

static int set_up(void **state)
{
	(void)state;
	return cudnn_plan_init();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(products_saturate_and_say_so),
		cmocka_unit_test(sums_of_groups_saturate_too),
		cmocka_unit_test(types_follow_the_data_and_the_way_it_is_computed),
		cmocka_unit_test(a_plan_has_the_operations_of_its_graph),
		cmocka_unit_test(a_descriptor_is_forgotten_when_it_is_destroyed),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
