/*
 * user_read: measures in ns how long a BPF program takes to read a number from the memory of its
 * process, which is the floor for everything that reads frames or objects one by one. Prints the
 * median of 1000 runs of 256 reads.
 */
#include <linux/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define READS 256
#define RUNS 1000

/* Reads from the address in its first argument; returns the nanoseconds that it took. */
static int load_program(void)
{
	struct bpf_insn insns[] = {
		{ .code = BPF_LDX | BPF_MEM | BPF_DW, .dst_reg = 6, .src_reg = 1 },
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_ktime_get_ns },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 7, .src_reg = 0 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 8, .imm = READS },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 1, .src_reg = 10 },
		{ .code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = 1, .imm = -8 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 2, .imm = 4 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 3, .src_reg = 6 },
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_probe_read_user },
		{ .code = BPF_ALU64 | BPF_SUB | BPF_K, .dst_reg = 8, .imm = 1 },
		{ .code = BPF_JMP | BPF_JNE | BPF_K, .dst_reg = 8, .off = -7 },
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_ktime_get_ns },
		{ .code = BPF_ALU64 | BPF_SUB | BPF_X, .dst_reg = 0, .src_reg = 7 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT,
		.insns = (uintptr_t)insns,
		.insn_cnt = sizeof(insns) / sizeof(*insns),
		.license = (uintptr_t) "GPL",
	};

	return (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

int main(void)
{
	static uint32_t times[RUNS];
	uint32_t number = 1;
	uint64_t arguments[] = { (uintptr_t)&number };
	int program = load_program();

	if (program < 0) {
		perror("cannot load a BPF program");
		return 1;
	}
	for (int i = 0; i < RUNS; i++) {
		union bpf_attr attr = { .test = { .prog_fd = (uint32_t)program,
						  .ctx_in = (uintptr_t)arguments,
						  .ctx_size_in = sizeof(arguments) } };

		if (syscall(SYS_bpf, BPF_PROG_TEST_RUN, &attr, sizeof(attr))) {
			perror("cannot run a BPF program");
			return 1;
		}
		times[i] = attr.test.retval;
	}
	qsort(times, RUNS, sizeof(*times), by_value);
	printf("%.1f\n", (double)times[RUNS / 2] / READS);
	return 0;
}
