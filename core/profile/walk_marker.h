/* How a profile shows that a walk ended before the root. */
#ifndef SPROF_WALK_MARKER_H
#define SPROF_WALK_MARKER_H

/* enum walk_end (core/portable/frames.h) to enum marker; -1: the stack is complete. */
int walk_marker(unsigned int end);

#endif
