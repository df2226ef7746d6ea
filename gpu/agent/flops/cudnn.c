/*
 * cuDNN: convolutions, whose sizes are in descriptors that its own functions read, and execution
 * plans (cudnn_plan.h). Prototypes: cudnn.h of versions 8 and 9.
 */
#include "gpu/agent/flops/cudnn_plan.h"
#include "gpu/agent/flops/flops_call.h"
#include "gpu/agent/flops/math_abi.h"
#include "gpu/agent/flops/math_libraries.h"

#include "gpu/agent/base/state.h"

enum { GET_TENSOR, GET_FILTER, GET_MATH };
static struct import needed[] = {
	[GET_TENSOR] = { "cudnnGetTensorNdDescriptor", 0, 0 },
	[GET_FILTER] = { "cudnnGetFilterNdDescriptor", 0, 0 },
	[GET_MATH] = { "cudnnGetConvolutionMathType", 0, 0 },
};

enum {
	FORWARD,
	FUSED,
	BACKWARD_DATA,
	BACKWARD_FILTER,
	EXECUTE,
	CREATE,
	DESTROY,
	SET_ATTRIBUTE,
	GET_ATTRIBUTE,
	NR_FUNCTIONS
};
static struct import imports[NR_FUNCTIONS];

#define REAL(function, number) ((__typeof__(&(function)))math_real(&imports[number]))

typedef int get_tensor_fn(const void *tensor, int max, int *data, int *nr, int *sizes,
			  int *strides);
typedef int get_filter_fn(const void *filter, int max, int *data, int *format, int *nr, int *sizes);
typedef int get_math_fn(const void *convolution, int *math);

struct sizes {
	int data, nr, of[CUDNN_DIM_MAX];
};

static bool is_possible(const struct sizes *s)
{
	return s->nr >= 2 && s->nr <= CUDNN_DIM_MAX;
}

static bool read_tensor(const void *tensor, struct sizes *ret)
{
	get_tensor_fn *get = (get_tensor_fn *)math_real(&needed[GET_TENSOR]);
	int strides[CUDNN_DIM_MAX];

	return tensor && !get(tensor, CUDNN_DIM_MAX, &ret->data, &ret->nr, ret->of, strides) &&
	       is_possible(ret);
}

static bool read_filter(const void *filter, struct sizes *ret)
{
	get_filter_fn *get = (get_filter_fn *)math_real(&needed[GET_FILTER]);
	int format;

	return filter && !get(filter, CUDNN_DIM_MAX, &ret->data, &format, &ret->nr, ret->of) &&
	       is_possible(ret);
}

/* What FP32 is in a convolution: TF32 by default, where the device has it. */
static enum gpu_flops_type single_of(const void *convolution)
{
	get_math_fn *get = (get_math_fn *)math_real(&needed[GET_MATH]);
	int math = CUDNN_DEFAULT_MATH;

	return convolution && !get(convolution, &math) && math == CUDNN_FMA_MATH
		       ? GPU_FLOPS_FP32
		       : (enum gpu_flops_type)shape_tf32();
}

/*
 * Each element of the output (of its gradient, in the two backward directions) takes the products
 * with one filter: its channels, which are those of one group, and its positions.
 */
static void begin(struct flops_call *call, const char *name, const void *output, const void *filter,
		  const void *convolution)
{
	struct shape shape = shape_unknown(GPU_FLOPS_DESCRIPTORS), part;
	struct sizes out, w;
	uint64_t product = SHAPE_REAL;
	bool known = read_tensor(output, &out) && read_filter(filter, &w);

	if (known) {
		shape = shape_new(GPU_FLOPS_DESCRIPTORS,
				  shape_type_of_tensor(out.data, single_of(convolution)));
		for (int i = 0; i < out.nr + w.nr - 1; i++) {
			part = shape_new(GPU_FLOPS_DESCRIPTORS, 0);
			shape_add(&part, product, i < out.nr ? out.of[i] : w.of[i - out.nr + 1], 1,
				  1, 1);
			product = part.flops;
			shape.known &= part.known;
			shape.saturated |= part.saturated;
		}
		shape.flops = product;
	}
	flops_call_is(call, name, &shape);
}

static int forward(void *handle, const void *alpha, const void *x_desc, const void *x,
		   const void *w_desc, const void *w, const void *convolution, int algo,
		   void *workspace, size_t size, const void *beta, const void *y_desc, void *y)
{
	struct flops_call call;

	if (flops_call_begins(&call, __builtin_frame_address(0)))
		begin(&call, "cudnnConvolutionForward", y_desc, w_desc, convolution);
	return flops_call_ends(&call, REAL(forward, FORWARD)(handle, alpha, x_desc, x, w_desc, w,
							     convolution, algo, workspace, size,
							     beta, y_desc, y));
}

static int fused(void *handle, const void *alpha1, const void *x_desc, const void *x,
		 const void *w_desc, const void *w, const void *convolution, int algo,
		 void *workspace, size_t size, const void *alpha2, const void *z_desc,
		 const void *z, const void *bias_desc, const void *bias, const void *activation,
		 const void *y_desc, void *y)
{
	struct flops_call call;

	if (flops_call_begins(&call, __builtin_frame_address(0)))
		begin(&call, "cudnnConvolutionBiasActivationForward", y_desc, w_desc, convolution);
	return flops_call_ends(&call,
			       REAL(fused, FUSED)(handle, alpha1, x_desc, x, w_desc, w, convolution,
						  algo, workspace, size, alpha2, z_desc, z,
						  bias_desc, bias, activation, y_desc, y));
}

static int backward_data(void *handle, const void *alpha, const void *w_desc, const void *w,
			 const void *dy_desc, const void *dy, const void *convolution, int algo,
			 void *workspace, size_t size, const void *beta, const void *dx_desc,
			 void *dx)
{
	struct flops_call call;

	if (flops_call_begins(&call, __builtin_frame_address(0)))
		begin(&call, "cudnnConvolutionBackwardData", dy_desc, w_desc, convolution);
	return flops_call_ends(&call, REAL(backward_data, BACKWARD_DATA)(
					      handle, alpha, w_desc, w, dy_desc, dy, convolution,
					      algo, workspace, size, beta, dx_desc, dx));
}

static int backward_filter(void *handle, const void *alpha, const void *x_desc, const void *x,
			   const void *dy_desc, const void *dy, const void *convolution, int algo,
			   void *workspace, size_t size, const void *beta, const void *dw_desc,
			   void *dw)
{
	struct flops_call call;

	if (flops_call_begins(&call, __builtin_frame_address(0)))
		begin(&call, "cudnnConvolutionBackwardFilter", dy_desc, dw_desc, convolution);
	return flops_call_ends(&call, REAL(backward_filter, BACKWARD_FILTER)(
					      handle, alpha, x_desc, x, dy_desc, dy, convolution,
					      algo, workspace, size, beta, dw_desc, dw));
}

static int execute(void *handle, void *plan, void *variant_pack)
{
	struct flops_call call;

	if (flops_call_begins(&call, __builtin_frame_address(0))) {
		const struct shape shape = cudnn_plan_shape(plan);

		flops_call_is(&call, "cudnnBackendExecute", &shape);
	}
	return flops_call_ends(&call, REAL(execute, EXECUTE)(handle, plan, variant_pack));
}

/* Plans are made once and run later: what they are made from is followed whenever we are here. */
static bool follows(void)
{
	return agent.alive && *agent.alive;
}

static int create(int type, void **descriptor)
{
	int status = REAL(create, CREATE)(type, descriptor);

	if (!status && follows())
		cudnn_plan_made(*descriptor);
	return status;
}

static int destroy(void *descriptor)
{
	if (follows())
		cudnn_plan_gone(descriptor);
	return REAL(destroy, DESTROY)(descriptor);
}

static int set_attribute(void *descriptor, int attribute, int type, int64_t nr,
			 const void *elements)
{
	int status = REAL(set_attribute, SET_ATTRIBUTE)(descriptor, attribute, type, nr, elements);

	if (!status && follows())
		cudnn_plan_set(descriptor, attribute, type, nr, elements);
	return status;
}

static int get_attribute(void *descriptor, int attribute, int type, int64_t max, int64_t *nr,
			 void *elements)
{
	int status =
		REAL(get_attribute, GET_ATTRIBUTE)(descriptor, attribute, type, max, nr, elements);

	if (!status && follows() && nr)
		cudnn_plan_got(descriptor, attribute, type, *nr < max ? *nr : max, elements);
	return status;
}

static struct import imports[NR_FUNCTIONS] = {
	[FORWARD] = { "cudnnConvolutionForward", 0, (uintptr_t)forward },
	[FUSED] = { "cudnnConvolutionBiasActivationForward", 0, (uintptr_t)fused },
	[BACKWARD_DATA] = { "cudnnConvolutionBackwardData", 0, (uintptr_t)backward_data },
	[BACKWARD_FILTER] = { "cudnnConvolutionBackwardFilter", 0, (uintptr_t)backward_filter },
	[EXECUTE] = { "cudnnBackendExecute", 0, (uintptr_t)execute },
	[CREATE] = { "cudnnBackendCreateDescriptor", 0, (uintptr_t)create },
	[DESTROY] = { "cudnnBackendDestroyDescriptor", 0, (uintptr_t)destroy },
	[SET_ATTRIBUTE] = { "cudnnBackendSetAttribute", 0, (uintptr_t)set_attribute },
	[GET_ATTRIBUTE] = { "cudnnBackendGetAttribute", 0, (uintptr_t)get_attribute },
};

const struct math_library math_cudnn = {
	.file = "libcudnn.so",
	.imports = imports,
	.nr = NR_FUNCTIONS,
	.needed = needed,
	.nr_needed = sizeof(needed) / sizeof(*needed),
};
