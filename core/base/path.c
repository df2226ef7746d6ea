/* A path is split at its slashes; repeated slashes and "." are left as they are. */
#include "core/base/path.h"

#include <string.h>

const char *path_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}
