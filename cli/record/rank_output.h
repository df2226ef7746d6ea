/*
 * The name of the recording if a launcher (torchrun, mpirun, srun) runs one sprof for each rank,
 * which would otherwise all write the same file.
 */
#ifndef SPROF_RANK_OUTPUT_H
#define SPROF_RANK_OUTPUT_H

struct job_rank;

/*
 * Returns the name, to be freed: "sprof.rank3.data" for "sprof.data", and with every %r of a name
 * replaced by the rank. `rank` is NULL outside a job: the name stays then, with %r replaced by 0.
 */
char *rank_output(const char *name, const struct job_rank *rank);

#endif
