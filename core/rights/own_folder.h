/*
 * Does a folder belong to its user alone? Others who can write to it could put files and links at
 * names that sprof writes or reads next.
 */
#ifndef SPROF_OWN_FOLDER_H
#define SPROF_OWN_FOLDER_H

#include <sys/types.h>

/*
 * 0 where the folder belongs to the effective user and others have none of the rights of `mask`
 * (of S_IRWXG | S_IRWXO) in it; -EPERM or -errno, with the reason in *ret_why.
 */
int own_folder_check(int fd, mode_t mask, const char **ret_why);

#endif
