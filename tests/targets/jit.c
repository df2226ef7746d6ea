// Runtime code in anonymous memory. It keeps frame pointers and has no unwind rules; its names are
// in /tmp/perf-PID.map, which stays for the reader. All time is in main;run;jit_outer;jit_inner
// (_[j] in collapsed stacks).
// BUILD: -fomit-frame-pointer
#include "tests/targets/work.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* jit_outer(iterations): calls jit_inner, which begins INNER bytes after it. */
#define INNER 16
static const unsigned char machine_code[] = {
	0x55,					  /* push %rbp */
	0x48, 0x89, 0xe5,			  /* mov %rsp,%rbp */
	0xe8, 0x07, 0x00, 0x00, 0x00,		  /* call jit_inner */
	0x5d,					  /* pop %rbp */
	0xc3,					  /* ret */
	0xcc, 0xcc, 0xcc, 0xcc, 0xcc,		  /* never reached */
	0x55,					  /* push %rbp */
	0x48, 0x89, 0xe5,			  /* mov %rsp,%rbp */
	0x48, 0xc7, 0xc0, 0x01, 0x00, 0x00, 0x00, /* mov $1,%rax */
	0x48, 0x69, 0xc0, 0x2d, 0x7f, 0x95, 0x4c, /* imul $0x4c957f2d,%rax,%rax */
	0x48, 0xff, 0xc0,			  /* inc %rax */
	0x48, 0xff, 0xcf,			  /* dec %rdi */
	0x75, 0xf1,				  /* jnz back to imul */
	0x5d,					  /* pop %rbp */
	0xc3,					  /* ret */
};

static char *compile(size_t *ret_size)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	char *code = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (code == MAP_FAILED)
		return NULL;
	memcpy(code, machine_code, sizeof(machine_code));
	*ret_size = size;
	return mprotect(code, size, PROT_READ | PROT_EXEC) ? NULL : code;
}

static int write_perf_map(const char *code)
{
	char path[64];
	FILE *map;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	map = fopen(path, "we");
	if (!map)
		return -1;
	fprintf(map, "%lx %x jit_outer\n", (unsigned long)code, INNER);
	fprintf(map, "%lx %zx jit_inner\n", (unsigned long)code + INNER,
		sizeof(machine_code) - INNER);
	return fclose(map);
}

NOIPA void run(const char *code, uint64_t iterations)
{
	((void (*)(uint64_t))(uintptr_t)code)(iterations);
	NO_TAIL_CALL();
}

int main(int argc, char **argv)
{
	uint64_t budget = budget_ns(argc, argv), ns = 0;
	size_t size;
	char *code = compile(&size);

	if (!code || write_perf_map(code))
		return 1;
	while (ns < budget)
		TIMED(ns, run(code, 20000000));
	munmap(code, size);
	truth(ns, "main;run;jit_outer_[j];jit_inner_[j]");
	return 0;
}
