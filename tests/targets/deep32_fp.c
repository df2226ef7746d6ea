// deep32_nofp.c with frame pointers everywhere except in leaf functions, where the compiler omits
// them regardless.
// BUILD: -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer
#include "tests/targets/deep32_nofp.c"
