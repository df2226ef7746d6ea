// BUILD: -O1
/*
 * Spins on a stack that it has built to make a profiler's walk long and each step of it slow:
 *
 *	stack_maze MS far	each frame on a page of its own, in a mapping of its own
 *	stack_maze MS faults	the same, and what each frame saves lies in memory that is not there
 *	stack_maze MS signals	each frame is a signal's, and all registers are read from unaligned
 *				addresses
 *	stack_maze MS copies	as far, but after 150 frames comes one that only DWARF describes, so
 *				that the stack must be copied too
 *	stack_maze MS callers	no rule leads to a caller, and each word above may be one and has a
 *				rule that takes the next word for its caller
 *
 * The frames are made with unwind rules that a program may have, so each step succeeds.
 */
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/base/clock.h"

#define NR_FRAMES 7000
#define NR_COPIES 7000
#define PAGE 4096ul
#define STRIDE (2 * PAGE)

/*
 * spin_with_fp(fp, sp, rounds): uses up time with both registers set. Its rule is that of code with
 * a frame pointer.
 *
 * spin_on_stack(fp, sp, rounds): the same. Its rule finds the caller's frame STRIDE bytes up, where
 * the return address is the last word of a page and the saved frame pointer is behind that page.
 *
 * from_signal: what it claims to be is the code to which a signal handler returns.
 */
void spin_with_fp(uint64_t fp, uint64_t sp, uint64_t rounds);
void spin_on_stack(uint64_t fp, uint64_t sp, uint64_t rounds);
extern const char page_of_code[], in_spin_with_fp[], in_spin_on_stack[], from_signal[],
	needs_dwarf[], after_call[];

__asm__(".text\n"
	".balign 4096\n"
	"page_of_code:\n"
	".type spin_with_fp, @function\n"
	"spin_with_fp:\n"
	".cfi_startproc\n"
	"	push %rbp\n"
	".cfi_def_cfa_offset 16\n"
	".cfi_offset %rbp, -16\n"
	"	mov %rsp, %rbp\n"
	".cfi_def_cfa_register %rbp\n"
	"	push %rbx\n"
	"	mov %rsp, %rbx\n"
	"	mov %rsi, %rsp\n"
	"	mov %rdi, %rbp\n"
	"1:	dec %rdx\n"
	"in_spin_with_fp:\n"
	"	jnz 1b\n"
	"	mov %rbx, %rsp\n"
	"	pop %rbx\n"
	"	pop %rbp\n"
	".cfi_def_cfa %rsp, 8\n"
	"	ret\n"
	".cfi_endproc\n"
	".size spin_with_fp, . - spin_with_fp\n"

	".balign 64\n"
	".type spin_on_stack, @function\n"
	"spin_on_stack:\n"
	".cfi_startproc\n"
	".cfi_def_cfa %rsp, 8192\n"
	".cfi_offset %rbp, 8\n"
	"	push %rbp\n"
	"	push %rbx\n"
	"	mov %rsp, %rbx\n"
	"	mov %rsi, %rsp\n"
	"	mov %rdi, %rbp\n"
	"1:	dec %rdx\n"
	"in_spin_on_stack:\n"
	"	jnz 1b\n"
	"	mov %rbx, %rsp\n"
	"	pop %rbx\n"
	"	pop %rbp\n"
	"	ret\n"
	".cfi_endproc\n"
	".size spin_on_stack, . - spin_on_stack\n"

	".balign 64\n"
	".cfi_startproc\n"
	".cfi_signal_frame\n"
	".cfi_def_cfa %rsp, 8\n"
	"	nop\n"
	"from_signal:\n"
	"	nop\n"
	"	ret\n"
	".cfi_endproc\n"

	/* the CFA is **(rsp + 8) */
	".balign 64\n"
	".cfi_startproc\n"
	".cfi_escape 0x0f, 0x04, 0x77, 0x08, 0x06, 0x06\n"
	"	nop\n"
	"needs_dwarf:\n"
	"	nop\n"
	"	ret\n"
	".cfi_endproc\n"

	".balign 64\n"
	".cfi_startproc\n"
	"	call *%rax\n"
	"after_call:\n"
	"	nop\n"
	"	ret\n"
	".cfi_endproc\n");

static char *copies, *stack;

static uint64_t at(const void *pointer)
{
	return (uint64_t)(uintptr_t)pointer;
}

/* The address of that code in copy number i of its page. */
static uint64_t copy_of(const char *code, unsigned int i)
{
	return at(copies) + i % NR_COPIES * STRIDE + (at(code) & (PAGE - 1));
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* Finds where in the program's file the page of code is. */
static int find_offset(struct dl_phdr_info *program, size_t size, void *ret)
{
	(void)size;
	for (unsigned int i = 0; i < program->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &program->dlpi_phdr[i];
		uint64_t offset = at(page_of_code) - program->dlpi_addr - segment->p_vaddr;

		if (segment->p_type == PT_LOAD && offset < segment->p_filesz)
			*(uint64_t *)ret = segment->p_offset + offset;
	}
	return 1; /* the other entries are libraries */
}

/* Maps the page of code many times, with gaps so that no two mappings merge. */
static void map_copies(void)
{
	int file = open("/proc/self/exe", O_RDONLY);
	uint64_t offset = 0;

	dl_iterate_phdr(find_offset, &offset);
	copies = mmap(NULL, NR_COPIES * STRIDE, PROT_NONE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (file < 0 || copies == MAP_FAILED)
		die("copies");
	for (unsigned int i = 0; i < NR_COPIES; i++)
		if (mmap(copies + i * STRIDE, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED,
			 file, (off_t)offset) == MAP_FAILED)
			die("mmap");
}

/* Every second page of the stack is not there, if it has holes. */
static void map_stack(int has_holes)
{
	stack = mmap(NULL, (NR_FRAMES + 2) * STRIDE, PROT_NONE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (stack == MAP_FAILED)
		die("stack");
	for (unsigned int i = 0; i < NR_FRAMES + 2; i++)
		if (mprotect(stack + i * STRIDE, has_holes ? PAGE : STRIDE, PROT_READ | PROT_WRITE))
			die("mprotect");
}

/* The word at that offset in the page of a frame. */
static uint64_t *word(unsigned int frame, unsigned long offset)
{
	return (uint64_t *)(void *)(stack + frame * STRIDE + offset);
}

#define FRAME 1024ul /* where in its page a frame lies */

static void build_far(void)
{
	for (unsigned int i = 0; i < NR_FRAMES; i++) {
		word(i, FRAME)[0] = at(word(i + 1, FRAME));
		word(i, FRAME)[1] = copy_of(in_spin_with_fp, i);
	}
}

static void build_faults(void)
{
	for (unsigned int i = 1; i < NR_FRAMES; i++)
		*word(i, PAGE - 8) = copy_of(in_spin_on_stack, i);
}

/* Where the registers are in a ucontext: see core/portable/walk_x86_64.h. */
#define GREGS 40
#define GREG_SP 15
#define GREG_PC 16

static void build_signals(void)
{
	char *sp = (char *)word(0, FRAME + 16);

	word(0, FRAME)[1] = copy_of(from_signal, 0) + 1;
	for (unsigned int i = 1; i < NR_FRAMES; i++) {
		uint64_t gregs[GREG_PC + 1] = { 0 };

		gregs[GREG_SP] = at(word(i, FRAME)) + 4;
		gregs[GREG_PC] = copy_of(from_signal, i);
		memcpy(sp + GREGS, gregs, sizeof(gregs));
		sp = (char *)word(i, FRAME) + 4;
	}
}

#define FRAMES_BEFORE_DWARF 150

static void build_copies(void)
{
	for (unsigned int i = 0; i < 16; i++)
		memset(stack + i * PAGE, 1, PAGE);
	build_far();
	word(FRAMES_BEFORE_DWARF, FRAME)[1] = copy_of(needs_dwarf, 0);
}

static void build_callers(void)
{
	for (unsigned int i = 0; i < 16 * PAGE / 8; i++)
		((uint64_t *)(void *)stack)[i] = copy_of(after_call, i);
	word(0, FRAME)[1] = 1; /* no code */
}

#define ROUNDS 100000000

int main(int argc, char **argv)
{
	uint64_t end = monotonic_ns() + (argc > 1 ? strtoull(argv[1], NULL, 10) : 1000) * 1000000;
	const char *how = argc > 2 ? argv[2] : "far";

	map_stack(strcmp(how, "copies") != 0 && strcmp(how, "callers") != 0);
	map_copies();
	if (!strcmp(how, "far"))
		build_far();
	else if (!strcmp(how, "faults"))
		build_faults();
	else if (!strcmp(how, "signals"))
		build_signals();
	else if (!strcmp(how, "copies"))
		build_copies();
	else if (!strcmp(how, "callers"))
		build_callers();
	else
		return 2;
	while (monotonic_ns() < end) {
		if (!strcmp(how, "faults"))
			spin_on_stack(0, at(word(0, PAGE)), ROUNDS);
		else
			spin_with_fp(at(word(0, FRAME)), at(word(0, FRAME)) - 256, ROUNDS);
	}
	return 0;
}
