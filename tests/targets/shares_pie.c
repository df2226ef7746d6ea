// shares.c built explicitly as a position-independent executable.
// BUILD: -pie -fPIE
#include "tests/targets/shares.c"
