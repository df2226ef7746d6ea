// Work in functions that exist only in the DWARF, because they are inlined. True shares: outer
// itself 20 %, outer;near 30 %, outer;far;deeper 50 %.
#include "tests/targets/work.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))

ALWAYS_INLINE void deeper(void)
{
	BURN(50);
}

ALWAYS_INLINE void far(void)
{
	deeper();
}

ALWAYS_INLINE void near(void)
{
	BURN(30);
}

static uint64_t ns_self, ns_near, ns_far;

NOIPA void outer(void)
{
	TIMED(ns_self, BURN(20));
	TIMED(ns_near, near());
	TIMED(ns_far, far());
}

int main(int argc, char **argv)
{
	uint64_t budget = budget_ns(argc, argv);

	while (ns_self + ns_near + ns_far < budget)
		outer();
	truth(ns_self, "main;outer");
	truth(ns_near, "main;outer;near_[i]");
	truth(ns_far, "main;outer;far_[i];deeper_[i]");
	return 0;
}
