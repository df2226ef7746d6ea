/* Writes what sprof top shows as a recording. */
#ifndef SPROF_SAVE_H
#define SPROF_SAVE_H

struct profile;

/* A file of that name becomes PATH.old, as by sprof record. 0 or -errno, reported. */
int save_recording(const char *path, const struct profile *p);

#endif
