/*
 * sprof record --calls collectives: times collective operations of gloo, as facts of the recording,
 * which sprof ranks compares.
 */
#ifndef SPROF_COLLECTIVE_OPS_H
#define SPROF_COLLECTIVE_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct call_counts;
struct collective_ops;
struct searched_file;
struct named_function;
struct sink;

#define COLLECTIVE_OPS_WORD "collectives"
#define NR_COLLECTIVE_OPS 6

/*
 * Names of the functions, without parameters. Each returns only after all ranks have called it;
 * broadcast, gather, reduce and scatter do not, so they are not listed.
 */
extern const char *const collective_ops_names[NR_COLLECTIVE_OPS];

/* The caller keeps `probes`. */
struct collective_ops *collective_ops_new(struct call_counts *probes);
void collective_ops_free(struct collective_ops *ops); /* NULL is fine */
/* Puts probes into a function of the file. false: they were refused. */
bool collective_ops_add(struct collective_ops *ops, const struct searched_file *file,
			const struct named_function *function);
/* Takes the operations that have returned. Call it often. */
void collective_ops_read(struct collective_ops *ops, struct sink *sink);
/* Reports how many operations there was no room for. */
void collective_ops_tell(const struct collective_ops *ops);

#endif
