/*
 * Builds the kernel's struct rt_sigframe field by field, with the vector state behind it as XSAVE
 * lays it out.
 */
#include "sampler/inject/x86_64/signal_frame.h"

#include <cpuid.h>
#include <errno.h>
#include <string.h>

#include "sampler/inject/x86_64/syscall_restart.h"

#define UC_FP_XSTATE 1u
#define UC_SIGCONTEXT_SS 2u
#define UC_STRICT_RESTORE_SS 4u
#define FP_XSTATE_MAGIC1 0x46505853u
#define FP_XSTATE_MAGIC2 0x46505845u

#define XSAVE_LEGACY_SIZE 512u
#define XSAVE_HEADER_SIZE 64u
#define SW_RESERVED 464u /* in the legacy area */
#define XFEATURE_TILE_CONFIG 17
#define XFEATURE_TILE_DATA 18
#define FLAGS_ALWAYS 2u
#define FLAGS_ALL 0x3fffffull
#define USER_CODE_SEGMENT 0x33u /* of 64 bits */
#define XFEATURES_TILE (1ull << XFEATURE_TILE_CONFIG | 1ull << XFEATURE_TILE_DATA)

struct signal_context {
	uint64_t r8, r9, r10, r11, r12, r13, r14, r15;
	uint64_t rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip, flags;
	uint16_t cs, gs, fs, ss;
	uint64_t error, trap, old_mask, cr2;
	uint64_t fpstate;
	uint64_t reserved[8];
};

struct signal_frame {
	uint64_t restorer;
	uint64_t flags, link;
	uint64_t stack_address, stack_flags, stack_size;
	struct signal_context context;
	uint64_t mask;
	uint8_t siginfo[128];
};

struct sw_reserved {
	uint32_t magic1, extended_size;
	uint64_t features;
	uint32_t size;
	uint32_t padding[7];
};

_Static_assert(sizeof(struct signal_context) == 256, "struct sigcontext");
_Static_assert(sizeof(struct signal_frame) == 8 + 40 + 256 + 8 + 128, "struct rt_sigframe");
_Static_assert(sizeof(struct sw_reserved) == 48, "struct _fpx_sw_bytes");

void inject_frame_measure(struct inject_frame_sizes *ret)
{
	for (unsigned int i = 0; i < 63; i++) {
		unsigned int a, b, c, d;

		ret->end[i] = 0;
		if (i >= 2 && __get_cpuid_count(0xd, i, &a, &b, &c, &d))
			ret->end[i] = a + b;
	}
}

/*
 * ptrace(2) shows room for every feature of the machine. A frame must not be larger than the
 * features that the process has enabled, and tiles (AMX) have to be enabled.
 */
static size_t state_size(const struct inject_frame_sizes *sizes, uint64_t features, size_t shown)
{
	size_t size = XSAVE_LEGACY_SIZE + XSAVE_HEADER_SIZE;

	for (unsigned int i = 2; i < 63; i++) {
		if (features >> i & 1 && sizes->end[i] > size)
			size = sizes->end[i];
	}
	return size < shown ? size : shown;
}

static int add_vector_state(uint8_t *at, size_t room, const struct inject_frame_sizes *sizes,
			    const struct inject_thread_state *state)
{
	struct sw_reserved sw = { .magic1 = FP_XSTATE_MAGIC1 };
	uint32_t magic2 = FP_XSTATE_MAGIC2;
	uint64_t used;
	size_t size;

	if (state->xstate_size < XSAVE_LEGACY_SIZE + XSAVE_HEADER_SIZE)
		return -EINVAL;
	memcpy(&sw.features, state->xstate + SW_RESERVED, sizeof(sw.features));
	memcpy(&used, state->xstate + XSAVE_LEGACY_SIZE, sizeof(used));
	if (!(used & XFEATURES_TILE))
		sw.features &= ~XFEATURES_TILE;
	size = state_size(sizes, sw.features, state->xstate_size);
	if (size + sizeof(magic2) > room)
		return -EMSGSIZE;
	sw.size = (uint32_t)size;
	sw.extended_size = (uint32_t)(size + sizeof(magic2));
	memcpy(at, state->xstate, size);
	memcpy(at + SW_RESERVED, &sw, sizeof(sw));
	memcpy(at + size, &magic2, sizeof(magic2));
	return (int)(size + sizeof(magic2));
}

int inject_frame_build(uint8_t *buffer, uint64_t address, uint64_t restorer,
		       const struct inject_frame_sizes *sizes,
		       const struct inject_thread_state *state)
{
	const size_t fpstate = (sizeof(struct signal_frame) + 63) & ~63ul;
	struct user_regs_struct r = state->regs;
	int size;
	struct signal_frame frame = {
		.restorer = restorer,
		.flags = UC_FP_XSTATE | UC_SIGCONTEXT_SS | UC_STRICT_RESTORE_SS,
		/*
		 * Flags that do not exist, so that the kernel leaves the thread's alternate stack
		 * as it is.
		 */
		.stack_flags = 0x7fff,
		.mask = state->signal_mask,
	};

	inject_restart_now(&r);
	frame.context = (struct signal_context){
		.r8 = r.r8,
		.r9 = r.r9,
		.r10 = r.r10,
		.r11 = r.r11,
		.r12 = r.r12,
		.r13 = r.r13,
		.r14 = r.r14,
		.r15 = r.r15,
		.rdi = r.rdi,
		.rsi = r.rsi,
		.rbp = r.rbp,
		.rbx = r.rbx,
		.rdx = r.rdx,
		.rax = r.rax,
		.rcx = r.rcx,
		.rsp = r.rsp,
		.rip = r.rip,
		.flags = r.eflags,
		.cs = (uint16_t)r.cs,
		.ss = (uint16_t)r.ss,
		.fpstate = address + fpstate,
	};
	memset(buffer, 0, INJECT_FRAME_SIZE);
	memcpy(buffer, &frame, sizeof(frame));
	size = add_vector_state(buffer + fpstate, INJECT_FRAME_SIZE - fpstate, sizes, state);
	return size < 0 ? size : (int)fpstate + size;
}

bool inject_frame_is_pc(const uint64_t *words, size_t nr)
{
	return nr > 2 && words[1] & FLAGS_ALWAYS && !(words[1] & ~FLAGS_ALL) &&
	       (words[2] & 0xffff) == USER_CODE_SEGMENT;
}
