// BUILD: -static
#include "blocked.c"
