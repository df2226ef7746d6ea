/* What the keys of sprof top do, in words. */
#ifndef SPROF_HELP_H
#define SPROF_HELP_H

#include "cli/top/picture.h"

extern const char help_text[];

/* The most important keys of a page in one line, as many as fit. */
const char *help_keys(enum screen_page page, int columns);

#endif
