/*
 * The marker that stands for repeated frames in a deep stack: a recursion's frames are counted
 * instead of stored. The frame's address holds the marker, how many frames are repeated and how
 * often. The name says only between which powers of two the number lies, so that stacks that differ
 * in their depth alone have the same frames in the pictures.
 */
#ifndef SPROF_REPEAT_MARKER_H
#define SPROF_REPEAT_MARKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REPEAT_MAX_FRAMES 64u

/* The address of a marker frame: the nr_frames frames before it occur `times` more times. */
uint64_t repeat_marker(uint32_t nr_frames, uint32_t times);
/* Is it such an address? */
bool repeat_marker_is(uint64_t address);
/* The same for all addresses whose names are the same. */
uint64_t repeat_marker_class(uint64_t address);
/* "[2 frames repeated 256-511 times]" */
void repeat_marker_name(uint64_t address, char *buf, size_t size);
/* Is it the name of such a marker? */
bool repeat_marker_is_name(const char *name, size_t size);

#endif
