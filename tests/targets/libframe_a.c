// Loaded by reused.c at the address where libframe_b is at other times.
#include "tests/targets/frame.h"

FRAME(frame_a, 40, 8);
