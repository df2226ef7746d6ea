/* What a folder must be is checked by core/segments/folder; here are the words. */
#include "cli/continuous/flight_folder.h"

#include <errno.h>
#include <sys/types.h>

#include "cli/continuous/continuous_opts.h"
#include "core/base/log.h"
#include "core/segments/folder.h"

int flight_folder_open(const struct continuous_opts *o, struct folder **ret)
{
	const struct folder_opts opts = {
		.path = o->path,
		.keep_ns = o->keep_ns,
		.max_bytes = o->max_bytes,
	};
	pid_t owner;
	int err = folder_open(&opts, ret, &owner);

	if (err == -EWOULDBLOCK) {
		log_error(0, "record into '%s': another recorder does%s%.0d", o->path,
			  owner ? ", process " : "", (int)owner);
		if (owner)
			log_hint("kill %d ends it; or choose another folder", (int)owner);
	} else if (err == -EPERM) {
		log_error(0, "record into '%s': another user owns it or may write to it", o->path);
		log_hint("choose a folder that is missing: it is made for you alone");
	} else if (err) {
		log_error(-err, "record into '%s'", o->path);
	}
	return err;
}
