// gapmeter.c with frame pointers, so that a frame-pointer walk has 32 frames to find too.
// BUILD: -fno-omit-frame-pointer
#include "tests/targets/gapmeter.c"
