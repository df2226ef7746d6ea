/*
 * Where glibc on x86-64 keeps a thread's own data: offsets in struct pthread, which fs points to.
 */
#ifndef SPROF_GLIBC_X86_64_H
#define SPROF_GLIBC_X86_64_H

#define GLIBC_PTHREAD_DTV 8u /* the thread's blocks by module, 16 bytes each; [0] is no block */
#define GLIBC_PTHREAD_BLOCK1 0x310u   /* specific_1stblock */
#define GLIBC_PTHREAD_SPECIFIC 0x510u /* specific: pointers to blocks of 32 */

#endif
