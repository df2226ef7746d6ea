/* A library that the user named in these variables is passed to ours, which loads it. */
#include "cli/gpu/gpu_environment.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "gpu/region/link.h"
#include "sampler/target/exec_environment.h"
#include "sampler/target/launch.h"

static void set(struct launch *launch, const char *name, const char *value)
{
	char *assignment = xasprintf("%s=%s", name, value);

	launch_set_environment(launch, assignment);
	free(assignment);
}

static void set_library(struct launch *launch, const char *library, const char *variable,
			const char *chain)
{
	const char *before = exec_environment_value(variable);

	if (before && *before && strcmp(before, library) != 0)
		set(launch, chain, before);
	set(launch, variable, library);
}

void gpu_environment_set(struct launch *launch, const char *library, const char *socket)
{
	set_library(launch, library, "CUDA_INJECTION64_PATH", GPU_ENV_CHAIN_CUDA);
	set_library(launch, library, "NVTX_INJECTION64_PATH", GPU_ENV_CHAIN_NVTX);
	set(launch, GPU_ENV_SOCKET, socket);
}
