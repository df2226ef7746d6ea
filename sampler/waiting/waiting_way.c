/*
 * The type information lists each tracepoint that BPF programs can attach to as a typedef of a
 * function pointer, whose first parameter is not one of the tracepoint's own.
 */
#include "sampler/waiting/waiting_way.h"

#include <stddef.h>

#include <bpf/btf.h>

static bool has_tracepoint(const struct btf *btf, const char *typedef_name)
{
	return btf__find_by_name_kind(btf, typedef_name, BTF_KIND_TYPEDEF) > 0;
}

/* Returns how many arguments the tracepoint has; 0: it is not there. */
static int nr_arguments(const struct btf *btf, const char *typedef_name)
{
	int id = btf__find_by_name_kind(btf, typedef_name, BTF_KIND_TYPEDEF);
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, (__u32)id) : NULL;

	t = t ? btf__type_by_id(btf, t->type) : NULL;
	t = t && btf_is_ptr(t) ? btf__type_by_id(btf, t->type) : NULL;
	return t && btf_is_func_proto(t) && btf_vlen(t) ? btf_vlen(t) - 1 : 0;
}

void waiting_kernel_examine(struct waiting_kernel *ret)
{
	struct btf *btf = btf__load_vmlinux_btf();
	int nr = btf ? nr_arguments(btf, "btf_trace_sched_switch") : 0;

	*ret = (struct waiting_kernel){ .way = WAITING_CANNOT };
	if (nr == 3 || nr == 4) {
		ret->switch_has_state = nr == 4;
		ret->reads_other_stacks =
			btf__find_by_name_kind(btf, "bpf_copy_from_user_task", BTF_KIND_FUNC) > 0;
		if (has_tracepoint(btf, "btf_trace_sched_exit_tp"))
			ret->way = WAITING_AT_SWITCH_END;
		else if (has_tracepoint(btf, "btf_trace_irq_work_entry"))
			ret->way = WAITING_BY_INTERRUPT;
	}
	btf__free(btf);
}

const char *waiting_way_text(enum waiting_way way)
{
	switch (way) {
	case WAITING_AT_SWITCH_END: return "at the end of each switch (sched_exit_tp)";
	case WAITING_BY_INTERRUPT: return "by an interrupt after each switch (irq_work)";
	default: return "the kernel has neither sched_exit_tp nor irq_work_entry";
	}
}
