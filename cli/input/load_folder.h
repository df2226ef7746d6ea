/* A folder of a flight recorder, read as one profile. */
#ifndef SPROF_LOAD_FOLDER_H
#define SPROF_LOAD_FOLDER_H

struct load_opts;
struct profile;

/*
 * Reads the segments that the filter's times and host choose, with the names that the folder has.
 * *ret_note says what is unfinished, or is "". 0 or -errno, reported.
 */
int folder_load(const char *path, const struct load_opts *opts, struct profile **ret_profile,
		char **ret_note);

#endif
