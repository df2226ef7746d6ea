// gapmeter.c with frame pointers, so that a frame-pointer walk also finds 32 frames.
// BUILD: -fno-omit-frame-pointer
#include "tests/targets/gapmeter.c"
