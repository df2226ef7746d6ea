/*
 * The graph interface of cuDNN (versions 8 and 9): a program describes tensors, operations on them
 * and a graph of these, and gets an execution plan, which is opaque. So what is described is
 * followed from the tensors to the plan.
 */
#ifndef SPROF_GPU_AGENT_CUDNN_PLAN_H
#define SPROF_GPU_AGENT_CUDNN_PLAN_H

#include <stdint.h>

struct shape;

int cudnn_plan_init(void); /* 0 or -ENOMEM */

/* A descriptor was made, or destroyed. */
void cudnn_plan_made(const void *descriptor);
void cudnn_plan_gone(const void *descriptor);
/* An attribute of a descriptor was set: enum cudnn_attribute, of an enum cudnn_attribute_type. */
void cudnn_plan_set(const void *descriptor, int attribute, int type, int64_t nr,
		    const void *elements);
/* A list of descriptors was read from another one. */
void cudnn_plan_got(const void *descriptor, int attribute, int type, int64_t nr,
		    const void *elements);
/* What a plan computes. */
struct shape cudnn_plan_shape(const void *plan);

#endif
