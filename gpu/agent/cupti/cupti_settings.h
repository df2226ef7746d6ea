/*
 * Attributes of CUPTI, which are global to the process. We set ours while we collect and put the
 * old ones back afterwards. Otherwise the next user of CUPTI would get buffers that CUPTI takes for
 * zeroed.
 */
#ifndef SPROF_GPU_AGENT_CUPTI_SETTINGS_H
#define SPROF_GPU_AGENT_CUPTI_SETTINGS_H

/* After subscribing. */
void cupti_settings_take(void);
/* When nothing is enabled any more and all records have been read. */
void cupti_settings_give_back(void);

#endif
