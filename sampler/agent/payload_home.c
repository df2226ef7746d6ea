/*
 * How the payload finds its region: it was put right behind the code, REGION_CODE_SIZE from the
 * code's start.
 */
#include "sampler/agent/agent.h"

struct agent_region *agent_home(void)
{
	return (struct agent_region *)(agent_payload_start + REGION_CODE_SIZE);
}
