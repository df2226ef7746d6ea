// Addresses whose names are known: labels mark instructions, and for each of them the program
// prints its name as "LABEL[-1] function:line>inlined function:line>...", outermost first. The rest
// of the program is bulk: templates of the standard library, inlined many levels deep.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <regex>
#include <string>
#include <vector>

#define NOIPA __attribute__((noipa))
#define ALWAYS_INLINE static inline __attribute__((always_inline))
#define MARK(label) asm volatile(".globl " #label "\n" #label ":\n\tnop" ::: "memory")

static const int leaf_line = __LINE__ + 3;
ALWAYS_INLINE void leaf()
{
	MARK(at_leaf);
}

static const int middle_line = __LINE__ + 3;
template <int N> ALWAYS_INLINE void middle()
{
	leaf();
}

namespace shapes
{
struct Circle {
	static const int outer_line = __LINE__ + 3;
	NOIPA void outer()
	{
		MARK(at_outer);
		middle<3>();
	}
};
} // namespace shapes

NOIPA static long callee(long x)
{
	return x + 1;
}

static const int call_line = __LINE__ + 3;
NOIPA long caller(long x)
{
	long y = callee(x);
	asm volatile(".globl after_call\nafter_call:" : "+a"(y));
	return y * 3;
}

static const int last_call_line = __LINE__ + 4;
extern "C" __attribute__((noipa, noreturn)) void last_call(int status)
{
	std::fflush(stdout);
	std::exit(
		status); // the call is the last instruction: what it returns to is another function
}

NOIPA static std::size_t bulk(const std::string &text)
{
	static const std::regex word("([a-z]+)[0-9]*|(x|y){2,3}");
	std::map<std::string, std::vector<std::shared_ptr<std::string>>> seen;

	for (std::sregex_iterator i(text.begin(), text.end(), word), end; i != end; ++i)
		seen[(*i)[1]].push_back(std::make_shared<std::string>((*i)[0]));
	for (auto &entry : seen)
		std::sort(entry.second.begin(), entry.second.end(),
			  [](const auto &a, const auto &b) { return *a < *b; });
	return seen.size();
}

int main(int argc, char **argv)
{
	std::size_t size = bulk(argc > 1 ? argv[1] : "a1 b22 xyx c333");

	shapes::Circle().outer();
	if (caller((long)size) == 0)
		return 1;
	std::printf("at_outer shapes::Circle::outer():%d\n", shapes::Circle::outer_line);
	std::printf("at_leaf shapes::Circle::outer():%d>middle<3>:%d>leaf:%d\n",
		    shapes::Circle::outer_line + 1, middle_line, leaf_line);
	std::printf("after_call-1 caller(long):%d\n", call_line);
	std::printf("last_call_end-1 last_call:%d\n", last_call_line);
	last_call(0);
}
