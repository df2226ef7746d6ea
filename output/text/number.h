/*
 * Numbers as people read them: shares, times, and the margin of error of samples. The picture's
 * script (flame_text.js) has the same rules, so a picture says the same with and without its
 * script.
 */
#ifndef SPROF_NUMBER_H
#define SPROF_NUMBER_H

#include <stddef.h>
#include <stdint.h>

#include "core/profile/profile.h"

struct buffer;

/* "41%", "4.1%", "0.41%", "<0.01%", "0%": at least two significant digits. */
void number_add_percent(struct buffer *b, uint64_t part, uint64_t whole);

/* The change of a share, given as a fraction, with its sign: "+5.7%", "-0.41%", "+0%". */
void number_add_change(struct buffer *b, double change);

/* "1.24 s", "312 ms", "4.10 us": three digits. */
void number_add_time(struct buffer *b, uint64_t ns);

/* "1.24 GB", "312 kB", "17 B": three digits, in powers of 1000 as copy rates are given. */
void number_add_bytes(struct buffer *b, uint64_t bytes);

/* "1.24 TFLOP", "312 GFLOP", "17 FLOP": three digits; n >= 0. */
void number_add_operations(struct buffer *b, double n);

/* A value in the unit of the column: "1.24 s", "1.24 GB", or a bare number. */
void number_add_value(struct buffer *b, enum profile_column column, uint64_t value);

/*
 * Half the width of the 95% confidence interval of a number of samples, `part` of `total`
 * (binomial, normal approximation).
 */
uint64_t number_margin(uint64_t part, uint64_t total);

/* part * scale / whole, rounded to nearest, without overflow; 0 if whole is 0. */
uint64_t number_scale(uint64_t part, uint64_t scale, uint64_t whole);

/* Appends the line "3 more functions (-n 0 shows all)". */
void number_add_more(struct buffer *b, uint64_t nr, const char *one, const char *many);

#endif
