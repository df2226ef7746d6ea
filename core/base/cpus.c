/*
 * Parses the kernel's lists of CPUs: ranges and single numbers, separated by commas. They must
 * ascend, as the kernel writes them, which bounds the result.
 */
#include "core/base/cpus.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/alloc.h"

#define MAX_CPU 65535

/*
 * Reads the number at *text and moves *text behind it; -1 where there is none or it is too large.
 */
static int take_number(const char **text)
{
	int number = 0;

	if (**text < '0' || **text > '9')
		return -1;
	for (; **text >= '0' && **text <= '9'; ++*text) {
		number = number * 10 + (**text - '0');
		if (number > MAX_CPU)
			return -1;
	}
	return number;
}

int cpus_parse(const char *text, int **ret_cpus, size_t *ret_nr)
{
	int *cpus = NULL, before = -1;
	size_t nr = 0, capacity = 0;

	for (;; text++) {
		int first = take_number(&text), last = first;

		if (*text == '-') {
			text++;
			last = take_number(&text);
		}
		if (first <= before || last < first)
			break;
		for (int cpu = first; cpu <= last; cpu++) {
			cpus = xgrow(cpus, &capacity, nr + 1, sizeof(*cpus));
			cpus[nr++] = cpu;
		}
		before = last;
		if (*text == '\0' || *text == '\n') {
			*ret_cpus = cpus;
			*ret_nr = nr;
			return 0;
		}
		if (*text != ',')
			break;
	}
	free(cpus);
	return -EINVAL;
}

int cpus_online(int **ret_cpus, size_t *ret_nr)
{
	FILE *f = fopen("/sys/devices/system/cpu/online", "re");
	char *line = NULL;
	size_t size = 0;
	int err = -ENODEV;

	if (!f)
		return -errno;
	if (getline(&line, &size, f) > 0)
		err = cpus_parse(line, ret_cpus, ret_nr);
	free(line);
	fclose(f);
	return err;
}
