// C++: templates, virtual calls and exceptions. True shares: the two instances of part 30 % and 20
// %, Square::area 25 %, throwing through four frames and catching 25 %.
#include "tests/targets/work.h"

#include <stdexcept>

namespace shapes
{
template <int Units> NOIPA void part()
{
	BURN(Units);
}

struct Shape {
	virtual ~Shape() = default;
	virtual void area() = 0;
};

struct Square final : Shape {
	NOIPA void area() override
	{
		BURN(25);
	}
};
} // namespace shapes

NOIPA void thrower(int depth)
{
	if (depth == 0)
		throw std::runtime_error("on purpose");
	thrower(depth - 1);
	NO_TAIL_CALL();
}

NOIPA int throw_and_catch(int nr)
{
	int caught = 0;

	while (nr--) {
		try {
			thrower(4);
		} catch (const std::exception &e) {
			caught++;
		}
	}
	return caught;
}

int main(int argc, char **argv)
{
	uint64_t budget = budget_ns(argc, argv), ns_30 = 0, ns_20 = 0, ns_area = 0, ns_throw = 0;
	shapes::Shape *shape = new shapes::Square;
	int caught = 0;

	while (ns_30 + ns_20 + ns_area + ns_throw < budget) {
		TIMED(ns_30, shapes::part<30>());
		TIMED(ns_20, shapes::part<20>());
		TIMED(ns_area, shape->area());
		while (ns_throw < ns_area)
			TIMED(ns_throw, caught += throw_and_catch(200));
	}
	delete shape;
	truth(ns_30, "main;void shapes::part<30>()");
	truth(ns_20, "main;void shapes::part<20>()");
	truth(ns_area, "main;shapes::Square::area()");
	truth(ns_throw, "main;throw_and_catch(int);**");
	return caught == 0;
}
