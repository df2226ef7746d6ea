/*
 * sorts SECONDS: spends the time in qsort(), snprintf(), strtod() and malloc() of the C library, so
 * that stacks go through that library.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 1);
	static int numbers[20000];
	char text[64];
	double sum = 0;

	while (time(NULL) < end) {
		for (int i = 0; i < 20000; i++)
			numbers[i] = i * 7919 % 10007;
		qsort(numbers, 20000, sizeof(int), compare);
		for (int i = 0; i < 5000; i++) {
			snprintf(text, sizeof(text), "%d.%g", numbers[i], i * 0.37);
			sum += strtod(text, NULL) + (double)strlen(text);
			free(malloc((size_t)i));
		}
	}
	return sum == 0;
}
