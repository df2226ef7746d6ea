// shares.c as a static binary that can be loaded at any address.
// BUILD: -static-pie
#include "tests/targets/shares.c"
