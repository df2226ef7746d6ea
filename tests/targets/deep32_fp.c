// deep32_nofp.c with frame pointers everywhere but in the leaves, where the compiler leaves them
// out all the same.
// BUILD: -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer
#include "tests/targets/deep32_nofp.c"
