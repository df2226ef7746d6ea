/*
 * interrupts HZ: the floor of every sampler. Like a sampler it has a cpu-clock event on every CPU
 * and a BPF program that runs at each tick, but the program does nothing. Prints a line when it is
 * ready and runs until it is killed.
 */
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* return 0: the sample is discarded */
static int load_empty_program(void)
{
	struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_PERF_EVENT,
		.insns = (uintptr_t)insns,
		.insn_cnt = 2,
		.license = (uintptr_t) "GPL",
	};

	return (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
}

int main(int argc, char **argv)
{
	uint64_t hz = argc > 1 ? strtoull(argv[1], NULL, 10) : 999;
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 1000000000 / hz,
		.exclude_idle = 1,
	};
	int program = load_empty_program();
	long nr_cpus = sysconf(_SC_NPROCESSORS_ONLN);

	if (program < 0) {
		perror("cannot load an empty BPF program");
		return 1;
	}
	for (int cpu = 0; cpu < nr_cpus; cpu++) {
		int event = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, 0);

		if (event < 0 || ioctl(event, PERF_EVENT_IOC_SET_BPF, program)) {
			perror("cannot open a cpu-clock event");
			return 1;
		}
	}
	puts("ready");
	fflush(stdout);
	pause();
	return 0;
}
