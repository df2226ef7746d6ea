/* The steps of ranks_align(): which lanes are one communicator, and which was last in it. */
#ifndef SPROF_COMMUNICATORS_H
#define SPROF_COMMUNICATORS_H

struct ranks;

/* Finds the shifts between clocks, and the lanes that belong together. Times become one clock's. */
void communicators_find(struct ranks *r);
/* Lists the collectives of each communicator, and adds up what each rank did to the others. */
void communicators_compare(struct ranks *r);

#endif
