/* Events that a PMU of the machine has, as sysfs describes them. */
#ifndef SPROF_PMU_EVENT_H
#define SPROF_PMU_EVENT_H

#include <stddef.h>

struct found_event;

/*
 * Finds NAME of any PMU, PMU/NAME/ or PMU/term=1,term=2/ among the PMUs described in `folder`, and
 * sets type, config and name in *ret. 0, or -errno with the reason in why[], as a clause.
 */
int pmu_event_find(const char *folder, const char *name, struct found_event *ret, char *why,
		   size_t why_size);

#endif
