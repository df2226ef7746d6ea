// shares.c as a static binary: no PT_GNU_EH_FRAME, no interpreter.
// BUILD: -static
#include "tests/targets/shares.c"
