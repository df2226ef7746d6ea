/*
 * The table of importers. They are asked in this order, and the first yes wins, so the strictest
 * test comes first and the most tolerant one, collapsed stacks, comes last. It also serves as the
 * default for files that foreign.h does not know, whose lines it then counts as good and bad.
 */
#include "output/import/importer.h"

#include <stddef.h>

#include "core/base/log.h"
#include "output/import/foreign.h"

const struct importer *const importer_table[] = {
	&import_jfr,
	&import_legacy_cpu,
	&import_legacy_text,
	&import_pprof,
	&import_firefox,
	&import_cpuprofile,
	&import_chrome_trace,
	&import_speedscope,
	&import_macos_sample,
	&import_ghc,
	&import_vtune,
	&import_bpftrace,
	&import_dtrace,
	&import_perf_script,
	&import_callgrind,
	&import_collapsed,
	NULL,
};

const struct importer *importer_detect(const char *data, size_t size, const char *name)
{
	const struct importer *const *i = importer_table;
	const struct foreign *foreign;

	while (i[1] && !(*i)->is(data, size))
		i++;
	foreign = i[1] ? NULL : foreign_find(data, size);
	if (!foreign)
		return *i;
	log_error(0, "read '%s': it is %s", name, foreign->what);
	if (foreign->hint)
		log_hint("%s", foreign->hint);
	return NULL;
}
