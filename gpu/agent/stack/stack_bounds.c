/*
 * Parses /proc/self/maps with plain system calls, through a buffer on the stack: no stdio, no
 * malloc.
 */
#include "gpu/agent/stack/stack_bounds.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define FREE_LOOKUPS 64u /* per thread; after them, one try in 256 */

struct maps {
	int fd;
	size_t at, nr;
	char bytes[2048];
};

static int next_byte(struct maps *m)
{
	if (m->at == m->nr) {
		ssize_t n = read(m->fd, m->bytes, sizeof(m->bytes));

		if (n <= 0)
			return -1;
		m->nr = (size_t)n;
		m->at = 0;
	}
	return (unsigned char)m->bytes[m->at++];
}

static int hex_digit(int c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads a hexadecimal number and the byte after it; false at the end of the file. */
static bool next_number(struct maps *m, uint64_t *ret)
{
	int c, digit;

	*ret = 0;
	while ((digit = hex_digit(c = next_byte(m))) >= 0)
		*ret = *ret << 4 | (uint64_t)digit;
	return c >= 0;
}

static bool find(struct maps *m, uint64_t sp, uint64_t *ret_low, uint64_t *ret_high)
{
	uint64_t low, high;
	int c;

	while (next_number(m, &low) && next_number(m, &high)) {
		int readable = next_byte(m) == 'r';

		if (sp >= low && sp < high && readable) {
			*ret_low = low;
			*ret_high = high;
			return true;
		}
		do
			c = next_byte(m);
		while (c >= 0 && c != '\n');
		if (c < 0)
			break;
	}
	return false;
}

bool stack_bounds(struct stack_cache *cache, uint64_t sp)
{
	struct maps m = { .at = 0 };
	int saved = errno; /* the application must not see ours: it is inside a call of its own */
	bool found;

	if (cache->nr_lookups++ >= FREE_LOOKUPS && cache->nr_lookups % 256)
		return false;
	m.fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	if (m.fd < 0) {
		errno = saved;
		return false;
	}
	cache->nr = 0;
	found = find(&m, sp, &cache->low, &cache->high);
	close(m.fd);
	errno = saved;
	return found;
}
