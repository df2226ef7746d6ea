/*
 * Short names in many languages, and the forms of a label.
 */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <string.h>

#include "core/base/buffer.h"
#include "core/profile/profile.h"
#include "output/tree/label.h"
#include "output/text/text.h"

static void assert_short(const char *name, const char *expected)
{
	size_t start, size;
	char text[256];

	label_short(name, strlen(name), FUNCTION_NATIVE, &start, &size);
	assert_true(start + size <= strlen(name));
	snprintf(text, sizeof(text), "%.*s", (int)size, name + start);
	assert_string_equal(text, expected);
}

static void names_of_c_and_cxx_lose_all_but_the_function(void **state)
{
	(void)state;
	assert_short("main", "main");
	assert_short("foo.part.0", "foo.part.0");
	assert_short("f(int)", "f");
	assert_short("ns::f<T>(args)", "f");
	assert_short("std::vector<int, std::allocator<int> >::push_back(int const&)", "push_back");
	assert_short("void ns::f<int>(std::map<a, b> const&)", "f");
	assert_short("std::string foo::bar[abi:cxx11](int) const", "bar");
	assert_short("Foo::bar() const [clone .cold]", "bar");
	assert_short("(anonymous namespace)::f(int)", "f");
	assert_short("a::(anonymous namespace)::g", "g");
	assert_short("a::b::~b()", "~b");
	assert_short("execute_one_pass(opt_pass*)", "execute_one_pass");
	assert_short("decltype (x->y) ns::f<int>(int)", "f");
}

static void operators_and_closures_keep_what_makes_sense_of_them(void **state)
{
	(void)state;
	assert_short("operator new(unsigned long)", "operator new");
	assert_short("ns::operator<<(std::ostream&, A const&)", "operator<<");
	assert_short("A::operator->() const", "operator->");
	assert_short("A::operator bool() const", "operator bool");
	assert_short("A::operator()(int)", "A::operator()");
	assert_short("f(int)::{lambda(int)#1}::operator()(int) const",
		     "{lambda(int)#1}::operator()");
	assert_short("my_operator::f()", "f");
	assert_short("operators(int)", "operators");
	assert_short("a::b::{{closure}}", "b::{{closure}}");
	assert_short("a::b::{closure#0}", "b::{closure#0}");
}

static void names_of_other_languages_are_known(void **state)
{
	(void)state;
	assert_short("<alloc::vec::Vec<T> as core::ops::Drop>::drop", "drop");
	assert_short("core::ptr::drop_in_place<alloc::string::String>", "drop_in_place");
	assert_short("github.com/x/y.(*Server).Serve", "y.(*Server).Serve");
	assert_short("net/http.HandlerFunc.ServeHTTP", "http.HandlerFunc.ServeHTTP");
	assert_short("java/util/HashMap:.get", "HashMap:.get");
	assert_short("Lorg/mozilla/Foo;::bar", "bar");
}

static void what_is_not_understood_stays_whole(void **state)
{
	static const char *const odd[] = {
		"[libc.so.6]", "[unknown]", "f(((",	  "::",	     "a::",	 "<<<>>>", "f f",
		"(",	       ")",	    "operator",	  "a::b<c",  "  ",	 "x)))y(", "{",
		"a/b/",	       "::::(::)",  "operator<(", "f() f()", "<T as X>", "a b::c",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
		size_t start, size, n = strlen(odd[i]);

		label_short(odd[i], n, FUNCTION_NATIVE, &start, &size);
		assert_true(size <= n && start <= n - size);
	}
	assert_short("[libc.so.6]", "[libc.so.6]");
	assert_short("f f", "f f");
	assert_short("a::", "a::");
	assert_short("a::b<c", "a::b<c");
	assert_short("</title><script>", "</title><script>");
	assert_short("a/b/", "a/b/");
}

static void names_that_follow_no_grammar_are_not_cut(void **state)
{
	static const char name[] = "train(epoch) at a::b";
	size_t start, size;

	(void)state;
	label_short(name, strlen(name), FUNCTION_PYTHON, &start, &size);
	assert_int_equal(start, 0);
	assert_int_equal(size, strlen(name));
}

static void assert_label(uint64_t self, size_t columns, const char *expected)
{
	static const char name[] = "ns::function<T>(args)";
	const struct label_name n = {
		.text = name, .size = strlen(name), .short_start = 4, .short_size = 8
	};
	struct buffer b = { 0 };

	label_add(&b, &n, 41, self, 100, columns);
	assert_string_equal(buffer_cstring(&b), expected);
	assert_true(text_columns(b.data, b.size) <= columns);
	buffer_fini(&b);
}

static void labels_descend_the_ladder(void **state)
{
	(void)state;
	assert_label(12, 99, "ns::function<T>(args) 41% \xc2\xb7 self 12%");
	assert_label(12, 36, "ns::function<T>(args) 41% \xc2\xb7 self 12%");
	assert_label(12, 35, "function 41% \xc2\xb7 self 12%");
	assert_label(12, 23, "function 41% \xc2\xb7 self 12%");
	assert_label(12, 22, "function 41%");
	assert_label(12, 12, "function 41%");
	assert_label(12, 11, "function");
	assert_label(12, 8, "function");
	assert_label(12, 7, "");
	assert_label(12, 0, "");
}

static void assert_cut(const char *name, size_t columns, const char *expected)
{
	const struct label_name n = { .text = name,
				      .size = strlen(name),
				      .short_size = strlen(name) };
	struct buffer b = { 0 };

	label_add(&b, &n, 41, 0, 100, columns);
	assert_string_equal(buffer_cstring(&b), expected);
	assert_true(text_columns(b.data, b.size) <= columns);
	buffer_fini(&b);
}

static void a_name_that_does_not_fit_keeps_at_least_8_characters_of_its_end(void **state)
{
	(void)state;
	assert_cut("__libc_start_call_main", 16, "\xe2\x80\xa6start_call_main");
	assert_cut("__libc_start_call_main", 12,
		   "\xe2\x80\xa6"
		   "call_main");
	assert_cut("__libc_start_call_main", 9,
		   "\xe2\x80\xa6"
		   "all_main");
	assert_cut("__libc_start_call_main", 8, "");
	assert_cut("cc1plus+0xcb5040", 15,
		   "\xe2\x80\xa6"
		   "0xcb5040");
	assert_cut("cc1plus+0xcb5040", 9,
		   "\xe2\x80\xa6"
		   "0xcb5040");
	assert_cut("python3.11+0x5e0340", 17,
		   "\xe2\x80\xa6"
		   "0x5e0340");
	assert_cut("make.<locals>.<listcomp>", 14, "\xe2\x80\xa6<listcomp>");
	assert_cut(
		"\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4",
		9, "\xe2\x80\xa6\xc3\xbc\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4");
}

static void a_label_without_self_time_does_not_mention_it(void **state)
{
	(void)state;
	assert_label(0, 25, "ns::function<T>(args) 41%");
	assert_label(0, 24, "function 41%");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_c_and_cxx_lose_all_but_the_function),
		cmocka_unit_test(operators_and_closures_keep_what_makes_sense_of_them),
		cmocka_unit_test(names_of_other_languages_are_known),
		cmocka_unit_test(what_is_not_understood_stays_whole),
		cmocka_unit_test(names_that_follow_no_grammar_are_not_cut),
		cmocka_unit_test(labels_descend_the_ladder),
		cmocka_unit_test(a_name_that_does_not_fit_keeps_at_least_8_characters_of_its_end),
		cmocka_unit_test(a_label_without_self_time_does_not_mention_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
