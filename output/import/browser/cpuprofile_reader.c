/*
 * Reads .cpuprofile, the file that `node --cpu-prof` and Chrome's developer tools write: one CPU
 * profile of V8 (https://chromedevtools.github.io/devtools-protocol/tot/Profiler/#type-Profile).
 * What it does not carry: processes, threads, native code and times on a CPU.
 */
#include "output/import/importer.h"

#include <string.h>

#include "core/profile/profile.h"
#include "output/import/browser/v8_profile.h"

static bool cpuprofile_is(const char *data, size_t size)
{
	return json_input_begins(data, size, '{') && memmem(data, size, "\"callFrame\"", 11) &&
	       memmem(data, size, "\"nodes\"", 7) && !memmem(data, size, "\"traceEvents\"", 13);
}

static int cpuprofile_read(FILE *f, const char *name, const struct import_opts *opts,
			   struct profile **ret_profile)
{
	struct v8_profile v = { .thread = PROFILE_NONE };
	struct json_input in;
	int err = json_input_init(&in, f, name);

	(void)opts;
	if (err)
		return err;
	v8_profile_read(&in, &v);
	if (!json_failed(&in.json))
		v8_profile_add_samples(&in, &v);
	v8_profile_fini(&v);
	return json_input_finish(&in, "V8 CPU profile", ret_profile);
}

const struct importer import_cpuprofile = {
	.name = "cpuprofile",
	.is = cpuprofile_is,
	.read = cpuprofile_read,
};
