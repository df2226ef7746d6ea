/*
 * The name of the recording where a launcher (torchrun, mpirun, srun) runs one sprof for each rank:
 * they would all write the same file.
 */
#ifndef SPROF_RANK_OUTPUT_H
#define SPROF_RANK_OUTPUT_H

struct job_rank;

/*
 * Returns the name, to be freed: "sprof.rank3.data" for "sprof.data", and with every %r of a name
 * replaced by the rank. `rank` is NULL outside of a job: then the name stays, but %r is 0.
 */
char *rank_output(const char *name, const struct job_rank *rank);

#endif
