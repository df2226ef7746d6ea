/*
 * Why CUPTI does not accept a subscriber, and whether that passes. Its error alone does not tell:
 * the same cause has other numbers in other versions, so the driver is asked too.
 */
#ifndef SPROF_GPU_AGENT_REFUSAL_H
#define SPROF_GPU_AGENT_REFUSAL_H

enum refusal {
	REFUSAL_FINAL,	   /* reported; trying again is of no use */
	REFUSAL_PASSES,	   /* reported; to be tried again now and then */
	REFUSAL_TOO_EARLY, /* not reported: CUDA is about to start, or has failed to */
};

/* `error` is what cuptiSubscribe() returned. */
enum refusal refusal_explain(int error);
/* Reports a refusal that was too early and stayed: CUDA never started. */
void refusal_report_never_started(int error);

#endif
