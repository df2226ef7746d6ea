/*
 * How a child that may open no files gets the files it finds to need: separate debug files, split
 * DWARF, and what servers have. It asks the recorder, which opens them. The recorder trusts no
 * request: it opens only regular files that begin as ELF files do, below the root directory of the
 * module or in its own debug directory, and only so many. In the module's root it hands over only
 * what debug_trust.h allows.
 */
#ifndef SPROF_FILE_REQUESTS_H
#define SPROF_FILE_REQUESTS_H

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/number_map.h"
#include "core/rights/debug_trust.h"
#include "symbolizer/lookup/symbol_source.h"

enum file_request_type {
	REQUEST_FILE = 1, /* text: a path in the root of the module; answered with a descriptor */
	REQUEST_OWN_FILE, /* the same in the root of the recorder, below its debug directory */
	REQUEST_FETCH,	  /* text: the bytes of a build-id; answered as REQUEST_FILE */
	REQUEST_LOG,	  /* text: a line for the user; not answered */
	REQUEST_DONE,	  /* the child has finished */
};

/* A message of the child; `text` is as long as the message. */
struct file_request {
	uint8_t type;		 /* enum file_request_type */
	char text[PATH_MAX + 1]; /* with room for a NUL after the longest */
};

/* ---- in the child */

struct file_asker {
	struct file_broker broker;
	int socket;
	pthread_mutex_t lock; /* one question at a time */
};

/* Messages for the user go through the socket too from now on. */
void file_asker_init(struct file_asker *asker, int socket);
/* Tells the recorder that the work is done. */
void file_asker_finish(struct file_asker *asker);

/* ---- in the recorder */

struct file_server {
	const struct symbolizer_opts *opts;
	const char *path;	  /* of the module, for messages */
	int root, own_root;	  /* directories, or -1 */
	struct debug_trust trust; /* in files of `root` */
	uint32_t nr_opened, nr_logged, nr_untrusted;
	/*
	 * How long file_server_run() has waited for the child, and how long it may at most; 0: that
	 * depends on the bytes of its files alone.
	 */
	uint64_t waited_ns, max_ns;
	uint64_t bytes;		   /* that the disk holds of the files it was given */
	struct number_map counted; /* those files, by a hash of device and inode */
};

/* Counts the bytes of a file that the child was given. */
void file_server_count(struct file_server *server, int fd);
void file_server_fini(struct file_server *server);

/*
 * Answers requests until the child has finished. 0; -ECHILD: it died; -ETIMEDOUT: it took longer
 * than it may; -EBADMSG: it sent
 * nonsense.
 */
int file_server_run(struct file_server *server, int socket);
/*
 * Answers some requests that have come. 0: the child has finished; -EAGAIN: it has not; or an error
 * as above. With a socket that does not block it waits for nothing.
 */
int file_server_go_on(struct file_server *server, int socket);

#endif
