/*
 * Markers: frames that are no code. One says why a walk ended before the root; one stands for
 * repeated frames in a deep stack: frames of a recursion are counted instead of stored. The name of
 * the latter gives the number only as a range of powers of two, so that stacks that differ in depth
 * alone have the same frames in pictures.
 */
#ifndef SPROF_MARKERS_H
#define SPROF_MARKERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* enum walk_end (core/portable/frames.h) to enum marker; -1: the stack is complete. */
int walk_marker(unsigned int end);

/*
 * A marker for repeated frames. Its address holds the marker, how many frames are repeated and how
 * often.
 */
#define REPEAT_MAX_FRAMES 64u

/* The address of a marker frame: the nr_frames frames before it occur `times` more times. */
uint64_t repeat_marker(uint32_t nr_frames, uint32_t times);
/* Is the address that of such a marker? */
bool repeat_marker_is(uint64_t address);
/* An address that stands for all addresses with the same name. */
uint64_t repeat_marker_class(uint64_t address);
/* "[2 frames repeated 256-511 times]" */
void repeat_marker_name(uint64_t address, char *buf, size_t size);
/* Is it the name of such a marker? */
bool repeat_marker_is_name(const char *name, size_t size);

#endif
