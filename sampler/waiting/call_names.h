/* Names of the system calls of this machine. */
#ifndef SPROF_CALL_NAMES_H
#define SPROF_CALL_NAMES_H

#include <stdint.h>

/* NULL: there is no such call. */
const char *call_name(uint32_t nr);

#endif
