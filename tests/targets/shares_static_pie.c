// shares.c as a static binary that is loaded anywhere.
// BUILD: -static-pie
#include "tests/targets/shares.c"
