/* The libraries that sprof puts into targets: where they are. */
#ifndef SPROF_OWN_LIBRARY_H
#define SPROF_OWN_LIBRARY_H

/* Its path, the caller's: beside this program, in ../lib or in ../lib/sprof. NULL: not there. */
char *own_library_find(const char *name);

#endif
