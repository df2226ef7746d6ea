/* Makes a pprof for each column, because a pprof has one period, and receivers one name for it. */
#include "output/push/pprof_parts.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/profile/column.h"
#include "core/profile/profile.h"
#include "output/export/exporter.h"
#include "output/push/series.h"

/* Names that Pyroscope and Parca know from Go's profiles; other columns have their own. */
static const char *metric_name(const struct profile *p, unsigned int column, char *own, size_t size)
{
	const char *name = column_info_of(p, column)->name;
	size_t n = 0;

	switch (column) {
	case COLUMN_CPU: return "process_cpu";
	case COLUMN_ALLOCATED:
	case COLUMN_ALLOCATIONS:
	case COLUMN_LIVE:
	case COLUMN_LIVE_OBJECTS: return "memory";
	case COLUMN_DELAY:
	case COLUMN_CONTENTIONS: return "block";
	default: break;
	}
	for (; *name && n + 1 < size; name++)
		own[n++] = strchr("abcdefghijklmnopqrstuvwxyz0123456789", *name) ? *name : '_';
	own[n] = '\0';
	return own;
}

static int visit_column(const struct push_set *set, const struct push_series *series,
			unsigned int column, struct profile_sample *samples, size_t nr,
			int (*visit)(void *context, const struct pprof_part *part), void *context)
{
	struct profile part = *set->p;
	struct buffer pprof = { 0 };
	struct pprof_part found = { .series = series, .pprof = &pprof, .nr_samples = nr };
	char own[64];
	int err;

	part.samples = samples;
	part.nr_samples = nr;
	found.name = metric_name(set->p, column, own, sizeof(own));
	err = export_pprof.write(&pprof, &part);
	err = err ? err : visit(context, &found);
	buffer_fini(&pprof);
	return err;
}

static int visit_series(const struct push_set *set, const struct push_series *series, bool threads,
			int (*visit)(void *context, const struct pprof_part *part), void *context)
{
	struct profile_sample *samples = xcalloc(series->nr_samples + 1, sizeof(*samples));
	int err = 0;

	for (unsigned int c = 0; c < NR_COLUMNS && !err; c++) {
		size_t nr = 0;

		for (size_t i = 0; i < series->nr_samples; i++) {
			if (series->samples[i].column != c)
				continue;
			samples[nr] = series->samples[i];
			if (!threads)
				samples[nr].thread = PROFILE_NONE;
			nr++;
		}
		if (nr)
			err = visit_column(set, series, c, samples, nr, visit, context);
	}
	free(samples);
	return err;
}

int pprof_parts_each(const struct push_set *set, bool threads,
		     int (*visit)(void *context, const struct pprof_part *part), void *context)
{
	int err = 0;

	for (size_t i = 0; i < set->nr_series && !err; i++)
		err = visit_series(set, &set->series[i], threads, visit, context);
	return err;
}
