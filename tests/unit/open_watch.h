/*
 * Tells whether a file was opened, by any process. inotify reports every open but those with
 * O_PATH, so it proves that something was only looked at.
 */
#ifndef SPROF_TESTS_OPEN_WATCH_H
#define SPROF_TESTS_OPEN_WATCH_H

#include "tests/unit/unit.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

/* Makes a FIFO and returns a watch of it, for open_watch_end(). */
static inline int open_watch_fifo(const char *path)
{
	int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);

	assert_int_equal(mkfifo(path, 0600), 0);
	assert_true(inotify_add_watch(watch, path, IN_OPEN) >= 0);
	return watch;
}

/* Returns whether the FIFO was opened since. Proves that the watch works, and removes both. */
static inline bool open_watch_end(int watch, const char *path)
{
	char events[4096];
	bool opened = read(watch, events, sizeof(events)) > 0;
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_true(read(watch, events, sizeof(events)) > 0);
	close(fd);
	close(watch);
	unlink(path);
	return opened;
}

#endif
