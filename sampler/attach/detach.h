/* Takes the payload out of a process: that of this recorder, or of one that was killed. */
#ifndef SPROF_DETACH_H
#define SPROF_DETACH_H

#include <stdint.h>

struct attach_layout;
struct attach_stops;
struct inject;
struct inject_reason;

/*
 * No thread is stopped before or after. 0, or -errno and the reason, as attach_end(). A process
 * that ends meanwhile is no error.
 */
int attach_detach(struct inject *inject, const struct attach_layout *layout,
		  struct attach_stops *ret_stops, struct inject_reason *reason);

/*
 * Removes what a recorder that was killed has left; 0, also where there is nothing. -EBUSY and the
 * reason: that recorder lives, and samples.
 */
int attach_recover(struct inject *inject, struct inject_reason *reason);

#endif
