/* The parts of a path, as text: no file is looked at. */
#ifndef SPROF_PATH_H
#define SPROF_PATH_H

/* The part behind the last '/'; the whole path where it has none or ends in it. */
const char *path_base_name(const char *path);

#endif
