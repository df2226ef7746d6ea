/*
 * A stack of 32 frames from main to the leaf: main, f1 ... f30, and the function given to deep().
 * The frames differ in size. Whether they keep frame pointers follows from a target's build flags.
 */
#ifndef SPROF_TESTS_DEEP32_H
#define SPROF_TESTS_DEEP32_H

#include "tests/targets/work.h"

typedef void leaf_function(void);

#define DEEP_FRAME(n, next)                                                                        \
	NOIPA unsigned f##n(leaf_function *leaf, unsigned x)                                       \
	{                                                                                          \
		volatile unsigned local[3 * (n)];                                                  \
                                                                                                   \
		local[n] = x;                                                                      \
		return next(leaf, x + 1) + local[n];                                               \
	}

NOIPA unsigned f30(leaf_function *leaf, unsigned x)
{
	leaf();
	return x;
}

/* clang-format off */
DEEP_FRAME(29, f30) DEEP_FRAME(28, f29) DEEP_FRAME(27, f28) DEEP_FRAME(26, f27) DEEP_FRAME(25, f26)
DEEP_FRAME(24, f25) DEEP_FRAME(23, f24) DEEP_FRAME(22, f23) DEEP_FRAME(21, f22) DEEP_FRAME(20, f21)
DEEP_FRAME(19, f20) DEEP_FRAME(18, f19) DEEP_FRAME(17, f18) DEEP_FRAME(16, f17) DEEP_FRAME(15, f16)
DEEP_FRAME(14, f15) DEEP_FRAME(13, f14) DEEP_FRAME(12, f13) DEEP_FRAME(11, f12) DEEP_FRAME(10, f11)
DEEP_FRAME(9, f10) DEEP_FRAME(8, f9) DEEP_FRAME(7, f8) DEEP_FRAME(6, f7) DEEP_FRAME(5, f6)
DEEP_FRAME(4, f5) DEEP_FRAME(3, f4) DEEP_FRAME(2, f3) DEEP_FRAME(1, f2)
/* clang-format on */

#define deep(leaf) f1(leaf, 0)
#define DEEP_CHAIN                                                                                 \
	"main;f1;f2;f3;f4;f5;f6;f7;f8;f9;f10;f11;f12;f13;f14;f15;f16;f17;f18;f19;f20;f21;f22;f23;" \
	"f24;f25;f26;f27;f28;f29;f30"

#endif
