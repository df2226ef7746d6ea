/*
 * The frame through which a thread goes back to what it did without our help: what the kernel lays
 * out before it runs a signal handler, filled from the state that ptrace(2) shows. rt_sigreturn(2)
 * on it restores every register, the vector state and the signal mask.
 *
 * Source: struct rt_sigframe and fpu__restore_sig() of the kernel's arch/x86, since 2.6.31.
 */
#ifndef SPROF_SIGNAL_FRAME_H
#define SPROF_SIGNAL_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/user.h>

#define INJECT_FRAME_SIZE 8192u /* AVX-512 needs 3.3 KiB */
#define INJECT_XSTATE_SIZE 16384u

struct inject_thread_state {
	/* as at the stop; they show a system call that is to be restarted */
	struct user_regs_struct regs;
	uint64_t signal_mask;
	uint8_t xstate[INJECT_XSTATE_SIZE]; /* NT_X86_XSTATE */
	size_t xstate_size;
};

/*
 * Where the state of each vector feature ends. The processor is asked before anything is stopped:
 * in a virtual machine each question takes some microseconds.
 */
struct inject_frame_sizes {
	uint32_t end[64];
};
void inject_frame_measure(struct inject_frame_sizes *ret_sizes);

/*
 * Writes the frame for a thread to `buffer` (INJECT_FRAME_SIZE bytes), which will stand at
 * `address` (a multiple of 64) in the target. `restorer` is the address of code that calls
 * rt_sigreturn(2). It is started by a `ret` with rsp = address, or by the restorer with rsp =
 * address + 8. Returns its size; -EMSGSIZE: the vector state does not fit (AMX in use).
 *
 * The frame makes a system call anew that was to be restarted; a timed sleep then begins again,
 * which is why this is only the way out when the recorder has died.
 */
int inject_frame_build(uint8_t *buffer, uint64_t address, uint64_t restorer,
		       const struct inject_frame_sizes *sizes,
		       const struct inject_thread_state *state);

/*
 * Of `nr` words of a stack: is the first one where a signal frame has the pc that was interrupted?
 * The flags follow, and then the segments of user code.
 */
bool inject_frame_is_pc(const uint64_t *words, size_t nr);

#endif
