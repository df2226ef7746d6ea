/* Sampling of program counters inside kernels, by CUPTI: which contexts, and when. */
#ifndef SPROF_GPU_AGENT_PC_SAMPLING_H
#define SPROF_GPU_AGENT_PC_SAMPLING_H

/* All of these need the lock (base/lock.h), and do nothing unless GPU_WANT_PC_SAMPLES. */

/* Before CUPTI is subscribed to: contexts and code made from then on are noted. */
void pc_sampling_begin(void);
/* Once CUPTI is loaded: reports where this copy cannot sample. */
void pc_sampling_check(void);
/* Begins to sample in contexts that were noted, reads the samples, and looks up some lines. */
void pc_sampling_read(void);

#endif
