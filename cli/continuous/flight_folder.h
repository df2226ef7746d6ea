/* Opens the folder of a flight recorder, and says why it cannot be used. */
#ifndef SPROF_FLIGHT_FOLDER_H
#define SPROF_FLIGHT_FOLDER_H

struct continuous_opts;
struct folder;

/* 0 or -errno, reported. */
int flight_folder_open(const struct continuous_opts *opts, struct folder **ret);

#endif
