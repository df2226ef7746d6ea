/*
 * SHA-256 (FIPS 180-4). The content security policy of an HTML page allows its script by this hash.
 * No library that sprof links has it.
 */
#ifndef SPROF_SHA256_H
#define SPROF_SHA256_H

#include <stddef.h>

enum { SHA256_SIZE = 32 };

void sha256(const void *data, size_t size, unsigned char ret_hash[SHA256_SIZE]);

#endif
