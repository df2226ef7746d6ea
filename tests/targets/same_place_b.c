// same_place_a.c with a large frame.
// BUILD: -no-pie -fno-pie
#include "tests/targets/frame.h"

#define OWN_FRAME frame_b
FRAME(frame_b, 4120, 40);

#include "tests/targets/same_place_a.c"
