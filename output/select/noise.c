/*
 * The lists of wrappers, of Python and of its interpreter. An entry without a function means every
 * function of the file. A new entry needs to be a function that does nothing but call another.
 */
#include "output/select/noise.h"

#include <stddef.h>
#include <string.h>

#include "core/base/path.h"
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

/*
 * Functions of CPython that run its bytecode or pass a call on, by the start of their names. Names
 * that others use too count only in a module that is known to be an interpreter.
 */
static const struct {
	const char *start;
	bool only_in_interpreter;
} calls[] = {
	{ "_PyEval_Eval", false },
	{ "_PyEval_Vector", false },
	{ "PyEval_EvalCode", false },
	{ "_PyObject_Call", false },
	{ "PyObject_Call", false },
	{ "_PyObject_FastCall", false },
	{ "_PyObject_MakeTpCall", false },
	{ "_PyObject_Vectorcall", false },
	{ "PyObject_Vectorcall", false },
	{ "_PyFunction_Vectorcall", false },
	{ "PyVectorcall_", false },
	{ "_PyVectorcall_", false },
	{ "_PyRun_", false },
	{ "PyRun_", false },
	{ "pymain_", false },
	{ "Py_RunMain", false },
	{ "Py_BytesMain", false },
	{ "cfunction_", true },
	{ "method_vectorcall", true },
	{ "vectorcall_", true },
	{ "slot_tp_call", true },
	{ "partial_vectorcall", true },
	{ "partial_call", true },
	{ "pyrun_", true },
	{ "run_mod", true },
	{ "run_eval_code_obj", true },
	{ "object_vacall", true },
	{ "function_code_fastcall", true },
	{ "type_call", true },
	{ "main", true },
};

/* "python3.11+0x512cc0": a function of a stripped interpreter. */
static bool is_unnamed(const struct tree_function *f)
{
	size_t length = strlen(f->module);

	return length && begins_with(f->name, f->module) && begins_with(f->name + length, "+0x");
}

static bool is_native_noise(const struct tree_function *f)
{
	bool in_interpreter =
		begins_with(f->module, "python3") || begins_with(f->module, "libpython3");

	/* ctypes: a call from Python, through libffi */
	if (begins_with(f->module, "_ctypes.") || begins_with(f->module, "libffi.so"))
		return true;
	if (in_interpreter && is_unnamed(f))
		return true;
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (begins_with(f->name, calls[i].start) &&
		    (in_interpreter || (!*f->module && !calls[i].only_in_interpreter)))
			return true;
	return false;
}

bool noise_is(const struct tree_function *f)
{
	if (f->kind == FUNCTION_NATIVE || f->kind == FUNCTION_UNKNOWN)
		return is_native_noise(f);
	if (f->kind != FUNCTION_PYTHON)
		return false;
	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++)
		if (python_file_is(f->file, list[i].file) &&
		    (!list[i].function || python_name_is(f->name, list[i].function)))
			return true;
	return false;
}
