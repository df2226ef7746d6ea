/*
 * The list of wrappers. An entry without a function means every function of the file. A new entry
 * needs to be a function that does nothing but call another.
 */
#include "output/select/noise.h"

#include <stddef.h>

#include "core/profile/profile.h"
#include "output/tree/python_name.h"
#include "output/tree/functions.h"

static const struct {
	const char *file;
	const char *function; /* NULL: all of that file */
} list[] = {
	{ "<frozen importlib._bootstrap>", NULL },
	{ "<frozen importlib._bootstrap_external>", NULL },
	{ "importlib/_bootstrap.py", NULL },
	{ "importlib/_bootstrap_external.py", NULL },
	{ "importlib/__init__.py", "import_module" },
	{ "<frozen runpy>", NULL },
	{ "runpy.py", NULL },
	{ "contextlib.py", NULL },
	{ "functools.py", NULL },
	/* PyTorch: the callers of forward() and the decorators around everything else. */
	{ "torch/nn/modules/module.py", "_call_impl" },
	{ "torch/nn/modules/module.py", "_wrapped_call_impl" },
	{ "torch/utils/_contextlib.py", "decorate_context" },
	{ "torch/autograd/grad_mode.py", "decorate_context" },
	{ "torch/optim/optimizer.py", "wrapper" },
	{ "torch/optim/optimizer.py", "_use_grad" },
	{ "torch/optim/lr_scheduler.py", "wrapper" },
	{ "torch/_dynamo/eval_frame.py", "_fn" },
	{ "torch/_dynamo/external_utils.py", "inner" },
	/* pytest: the callers of its hooks. */
	{ "pluggy/_hooks.py", "__call__" },
	{ "pluggy/_manager.py", "_hookexec" },
	{ "pluggy/_callers.py", "_multicall" },
	{ "pluggy/_caller.py", "__call__" }, /* since 1.7 */
	{ "pluggy/_execution.py", "_multicall" },
};

bool noise_is(const struct tree_function *f)
{
	if (f->kind != FUNCTION_PYTHON)
		return false;
	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++)
		if (python_file_is(f->file, list[i].file) &&
		    (!list[i].function || python_name_is(f->name, list[i].function)))
			return true;
	return false;
}
