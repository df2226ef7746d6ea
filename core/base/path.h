/* Parts of a path, as text: the file system is not asked. */
#ifndef SPROF_PATH_H
#define SPROF_PATH_H

/* Returns what follows the last '/', or the whole path where it has none or ends in it. */
const char *path_base_name(const char *path);

#endif
