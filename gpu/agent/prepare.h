/* Start-up: makes every table of the agent, in the order in which they need each other. */
#ifndef SPROF_GPU_AGENT_PREPARE_H
#define SPROF_GPU_AGENT_PREPARE_H

/* Makes the tables and the region, once. 0 or -errno, reported. */
int agent_prepare(void);

/*
 * The same in a forked child whose parent had prepared, but had not started CUDA: with tables and a
 * region of its own, and the strings of the parent.
 */
int agent_prepare_in_child(void);

/*
 * Between two recorders: drops every count, sum and report that the last one was given. What is
 * known for good stays: strings, stacks, range paths, devices and their allocations. Only while
 * nothing is collected.
 */
void agent_forget(void);

#endif
