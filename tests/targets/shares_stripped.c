// shares.c without .symtab and DWARF; the names are in .dynsym.
// BUILD: -s -rdynamic
#include "tests/targets/shares.c"
