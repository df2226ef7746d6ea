/*
 * An evaluator of classic BPF, for the instructions that seccomp allows. Jumps only lead forward,
 * so every path through a program ends. Each value carries whether it is known.
 */
#include "sampler/inject/seccomp_filter.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stdbool.h>

#define MAX_STEPS (1u << 18) /* of all paths together */

struct value {
	uint32_t is;
	bool known;
};

struct machine {
	struct value a, x, memory[BPF_MEMWORDS];
};

struct run {
	const struct sock_filter *code;
	size_t nr;
	const struct seccomp_call *call;
	uint32_t steps;
	uint32_t action;
};

uint32_t seccomp_filter_worse(uint32_t a, uint32_t b)
{
	int32_t x = (int32_t)(a & SECCOMP_RET_ACTION_FULL);
	int32_t y = (int32_t)(b & SECCOMP_RET_ACTION_FULL);

	return y < x ? b : a;
}

/*
 * A word of struct seccomp_data: number, architecture, pc in two halves, six arguments in two
 * halves.
 */
static struct value load(const struct seccomp_call *call, uint32_t offset)
{
	uint32_t word = offset / 4, arg = (word - 4) / 2;

	if (word == 0)
		return (struct value){ call->number, true };
	if (word == 1)
		return (struct value){ INJECT_AUDIT_ARCH, true };
	if (word < 4 || !(call->known >> arg & 1))
		return (struct value){ 0, false };
	return (struct value){ (uint32_t)(call->args[arg] >> (word % 2 ? 32 : 0)), true };
}

/* 0, or -EINVAL; 1: the program ends here with 0, as a division by zero does. */
static int compute(struct machine *m, uint16_t code, struct value by)
{
	uint32_t *a = &m->a.is, b = by.is;
	bool is_known = m->a.known && by.known;

	switch (BPF_OP(code)) {
	case BPF_ADD: *a += b; break;
	case BPF_SUB: *a -= b; break;
	case BPF_MUL: *a *= b; break;
	case BPF_OR: *a |= b; break;
	case BPF_XOR: *a ^= b; break;
	case BPF_AND:
		/* and with 0 the result is 0, whatever the other is */
		is_known |= (by.known && !b) || (m->a.known && !*a);
		*a &= b;
		break;
	case BPF_LSH: *a = b < 32 ? *a << b : 0; break;
	case BPF_RSH: *a = b < 32 ? *a >> b : 0; break;
	case BPF_DIV:
		if (by.known && !b)
			return 1;
		is_known &= by.known;
		*a = b ? *a / b : 0;
		break;
	case BPF_NEG:
		*a = -*a;
		is_known = m->a.known;
		break;
	default: return -EINVAL;
	}
	/* The result of so wide a shift depends on the machine; a constant one is not allowed. */
	if ((BPF_OP(code) == BPF_LSH || BPF_OP(code) == BPF_RSH) && b >= 32) {
		if (BPF_SRC(code) == BPF_K)
			return -EINVAL;
		is_known = false;
	}
	m->a.known = is_known;
	return 0;
}

/* Whether a jump is taken; both where that is not known. */
static int decide(const struct machine *m, const struct sock_filter *i, bool *ret_yes, bool *ret_no)
{
	struct value with = BPF_SRC(i->code) == BPF_X ? m->x : (struct value){ i->k, true };
	uint32_t a = m->a.is, b = with.is;
	bool yes;

	switch (BPF_OP(i->code)) {
	case BPF_JEQ: yes = a == b; break;
	case BPF_JGT: yes = a > b; break;
	case BPF_JGE: yes = a >= b; break;
	case BPF_JSET: yes = a & b; break;
	default: return -EINVAL;
	}
	*ret_yes = *ret_no = true;
	if (m->a.known && with.known) {
		*ret_yes = yes;
		*ret_no = !yes;
	}
	return 0;
}

/* Loads, stores and moves. */
static int move(const struct run *r, struct machine *m, const struct sock_filter *i)
{
	switch (i->code) {
	case BPF_LD | BPF_W | BPF_ABS:
		if (i->k % 4 || i->k >= sizeof(struct seccomp_data))
			return -EINVAL;
		m->a = load(r->call, i->k);
		return 0;
	case BPF_LD | BPF_W | BPF_LEN:
		m->a = (struct value){ sizeof(struct seccomp_data), true };
		return 0;
	case BPF_LDX | BPF_W | BPF_LEN:
		m->x = (struct value){ sizeof(struct seccomp_data), true };
		return 0;
	case BPF_LD | BPF_IMM: m->a = (struct value){ i->k, true }; return 0;
	case BPF_LDX | BPF_IMM: m->x = (struct value){ i->k, true }; return 0;
	case BPF_MISC | BPF_TAX: m->x = m->a; return 0;
	case BPF_MISC | BPF_TXA: m->a = m->x; return 0;
	default: break;
	}
	if (i->k >= BPF_MEMWORDS)
		return -EINVAL;
	switch (i->code) {
	case BPF_LD | BPF_MEM: m->a = m->memory[i->k]; return 0;
	case BPF_LDX | BPF_MEM: m->x = m->memory[i->k]; return 0;
	case BPF_ST: m->memory[i->k] = m->a; return 0;
	case BPF_STX: m->memory[i->k] = m->x; return 0;
	default: return -EINVAL;
	}
}

static int end(struct run *r, const struct machine *m, const struct sock_filter *i)
{
	struct value action = { i->k, true };

	if (i->code == (BPF_RET | BPF_A))
		action = m->a;
	else if (i->code != (BPF_RET | BPF_K))
		return -EINVAL;
	if (!action.known)
		return -ENODATA;
	r->action = seccomp_filter_worse(r->action, action.is);
	return 0;
}

/* Runs from the instruction `at` on to every end that can be reached. */
static int follow(struct run *r, struct machine m, size_t at)
{
	while (at < r->nr) {
		const struct sock_filter *i = &r->code[at++];
		bool yes, no;
		int err = 0;

		if (++r->steps > MAX_STEPS)
			return -E2BIG;
		switch (BPF_CLASS(i->code)) {
		case BPF_RET: return end(r, &m, i);
		case BPF_ALU:
			err = compute(&m, i->code,
				      BPF_SRC(i->code) == BPF_X ? m.x
								: (struct value){ i->k, true });
			if (err == 1)
				r->action =
					seccomp_filter_worse(r->action, SECCOMP_RET_KILL_THREAD);
			if (err)
				return err < 0 ? err : 0;
			break;
		case BPF_JMP:
			if (i->code == (BPF_JMP | BPF_JA)) {
				if (i->k >= r->nr)
					return -EINVAL;
				at += i->k;
				break;
			}
			err = decide(&m, i, &yes, &no);
			if (!err && yes && no)
				err = follow(r, m, at + i->jt);
			if (err)
				return err;
			at += no ? i->jf : i->jt;
			break;
		default: err = move(r, &m, i);
		}
		if (err)
			return err;
	}
	return -EINVAL; /* past the end */
}

int seccomp_filter_run(const struct sock_filter *code, size_t nr, const struct seccomp_call *call,
		       uint32_t *ret_action)
{
	struct run run = {
		.code = code,
		.nr = nr,
		.call = call,
		.action = SECCOMP_RET_ALLOW,
	};
	struct machine zero = { .a = { 0, true }, .x = { 0, true } };
	int err = nr && nr <= SECCOMP_FILTER_MAX ? follow(&run, zero, 0) : -EINVAL;

	if (!err)
		*ret_action = run.action;
	return err;
}
