// shares.c at a fixed address.
// BUILD: -no-pie -fno-pie
#include "tests/targets/shares.c"
