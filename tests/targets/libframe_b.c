// Loaded by reused.c at the address where libframe_a is at other times.
#include "tests/targets/frame.h"

FRAME(frame_b, 4120, 40);
