/*
 * Where glibc on x86-64 keeps the data of a thread: offsets in struct pthread, to which fs points.
 */
#ifndef SPROF_GLIBC_X86_64_H
#define SPROF_GLIBC_X86_64_H

#define GLIBC_PTHREAD_SELF 0x10u /* the address of the struct itself */
#define GLIBC_PTHREAD_TID 0x2d0u /* the number of the thread, in its PID namespace; an int */
#define GLIBC_PTHREAD_DTV 8u	 /* the TLS blocks by module, 16 bytes each; entry 0 is no block */
#define GLIBC_PTHREAD_BLOCK1 0x310u   /* specific_1stblock */
#define GLIBC_PTHREAD_SPECIFIC 0x510u /* specific: pointers to blocks of 32 */

#endif
