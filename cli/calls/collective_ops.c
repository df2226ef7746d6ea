/* Each operation becomes a fact when it returns, named by the function at whose entry it began. */
#include "cli/calls/collective_ops.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/calls/function_searches.h"
#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/base/proc_status.h"
#include "core/profile/source.h"
#include "sampler/bpf/calls.h"
#include "sampler/call_counts.h"
#include "symbolizer/confined_functions.h"

#define MAX_ROWS (1u << 20)

const char *const collective_ops_names[NR_COLLECTIVE_OPS] = {
	"gloo::allreduce", "gloo::allgather", "gloo::allgatherv",
	"gloo::alltoall",  "gloo::alltoallv", "gloo::barrier",
};

struct entry {
	uint32_t probe;
	char *name;
};

struct collective_ops {
	struct call_counts *probes;
	struct sink *sink; /* used while operations are read */
	struct entry *entries;
	size_t nr_entries, capacity;
	uint64_t nr_rows, nr_left_out;
};

struct collective_ops *collective_ops_new(struct call_counts *probes)
{
	struct collective_ops *o = xcalloc(1, sizeof(*o));

	o->probes = probes;
	return o;
}

void collective_ops_free(struct collective_ops *o)
{
	if (!o)
		return;
	for (size_t i = 0; i < o->nr_entries; i++)
		free(o->entries[i].name);
	free(o->entries);
	free(o);
}

bool collective_ops_add(struct collective_ops *o, const struct searched_file *file,
			const struct named_function *f)
{
	uint32_t user = file->user == SEARCH_FOR_CALLER ? CALL_COUNTS_CALLER : file->user;
	int probe = call_counts_attach_collective(o->probes, file->fd, user, f->offset, f->size);

	if (probe < 0) {
		log_debug("probes in %s: %s", f->name, strerror(-probe));
		return false;
	}
	o->entries = xgrow(o->entries, &o->capacity, o->nr_entries + 1, sizeof(*o->entries));
	o->entries[o->nr_entries++] = (struct entry){ (uint32_t)probe, xstrdup(f->name) };
	return true;
}

static const char *name_of(const struct collective_ops *o, uint32_t probe)
{
	for (size_t i = 0; i < o->nr_entries; i++)
		if (o->entries[i].probe == probe)
			return o->entries[i].name;
	return "";
}

static void on_collective(void *context, const struct collective_event *e)
{
	struct collective_ops *o = context;
	struct sink *sink = o->sink;
	const char *name = name_of(o, e->probe);
	char comm[32];

	if (o->nr_rows == MAX_ROWS) {
		o->nr_left_out++;
		return;
	}
	o->nr_rows++;
	proc_name((pid_t)e->tgid, (pid_t)e->tid, comm, sizeof(comm));
	sink->fact(sink, FACT_COLLECTIVE,
		   &(struct fact_collective){
			   .pid = e->tgid,
			   .thread = sink->thread(sink, e->tgid, e->tid,
						  sink->string(sink, comm, strlen(comm))),
			   .way = COLLECTIVE_HOST,
			   .lane = e->lane,
			   .name = sink->string(sink, name, strlen(name)),
			   .start_ns = e->start_ns,
			   .duration_ns = e->end_ns - e->start_ns,
			   .stack = PROFILE_NONE,
		   });
}

void collective_ops_read(struct collective_ops *o, struct sink *sink)
{
	o->sink = sink;
	call_counts_read_collectives(o->probes, on_collective, o);
	o->sink = NULL;
}

void collective_ops_tell(const struct collective_ops *o)
{
	uint64_t nr = o->nr_left_out + call_counts_nr_collectives_left_out(o->probes);

	if (nr)
		log_warning("%" PRIu64 " collective operations are not in the recording: there "
			    "are too many",
			    nr);
}
