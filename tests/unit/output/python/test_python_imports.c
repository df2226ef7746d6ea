/* The name of a module by its file. */
#include "tests/unit/unit.h"

#include "core/base/buffer.h"
#include "output/python/python_imports.h"

static void a_module_is_named_by_its_path_below_the_library(void **state)
{
	static const struct {
		const char *file, *name;
	} cases[] = {
		{ "/usr/lib/python3/dist-packages/yaml/reader.py", "yaml.reader" },
		{ "/usr/lib/python3.11/json/__init__.py", "json" },
		{ "/opt/py/lib/python3.13/site-packages/torch/nn/modules/conv.py",
		  "torch.nn.modules.conv" },
		{ "/usr/lib/python3.11/site-packages/a/__init__.py", "a" },
		{ "<frozen os>", "os" },
		{ "<frozen importlib._bootstrap>", "importlib._bootstrap" },
		{ "/home/me/project/train.py", "train" },
		{ "/home/me/project/model/__init__.py", "model" },
		{ "model/__init__.py", "model" },
		{ "train.py", "train" },
		{ "<string>", "<string>" },
		{ "<frozen ", "<frozen " },
		{ "", "" },
		{ "/", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct buffer b = { 0 };

		python_imports_add_name(&b, cases[i].file);
		assert_string_equal(buffer_cstring(&b), cases[i].name);
		buffer_fini(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_module_is_named_by_its_path_below_the_library),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
