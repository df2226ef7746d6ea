/* Sizes on the command line: 65536, 500M, 2G, 1.5T. */
#ifndef SPROF_BYTE_SIZE_H
#define SPROF_BYTE_SIZE_H

#include <stdint.h>

struct argp_state;

/* Bytes; 0: the text is not a size greater than 0. K, M, G and T are powers of 1024. */
uint64_t byte_size_parse(const char *text);

/* The same of an option's argument, of 1M or more: ends the program where it is no such size. */
uint64_t byte_size_argument(const char *text, struct argp_state *state);

#endif
