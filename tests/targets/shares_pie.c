// shares.c as a position independent executable, said explicitly.
// BUILD: -pie -fPIE
#include "tests/targets/shares.c"
