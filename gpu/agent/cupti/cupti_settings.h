/*
 * What CUPTI holds for all who use it in a process: attributes and the clock. Set while we collect, and put back
 * afterwards: the next one takes buffers that nobody has zeroed, and its times by the clock that CUPTI begins with.
 */
#ifndef SPROF_GPU_AGENT_CUPTI_SETTINGS_H
#define SPROF_GPU_AGENT_CUPTI_SETTINGS_H

/* Once subscribed. */
void cupti_settings_take(void);
/* When nothing is enabled any more, and all records have been read. */
void cupti_settings_give_back(void);

#endif
