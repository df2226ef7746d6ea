# Compares a profile with the truth: shares [-v other=PERCENT] [-v hz=HZ] TRUTH FOLDED
#
# TRUTH is the output of a target (tests/targets/work.h explains it), FOLDED that of `sprof fold`.
# Prints a table and exits 1 unless
#  - the share of each chain is within 3 sigma of the truth (binomial, for the number of samples);
#  - 99.9 % of the stacks (-v broken=5: 99.5 %) are complete: they hold no marker, their root is a
#    thread's first function, and a leaf is only below its true callers;
#  - no more than `other` percent (5) of the samples are elsewhere: in the dynamic linker, in exec,
#    between the parts;
#  - with -v hz: the number of samples is the CPU time times hz, within 5 %.
# Do frames[first + 1 ...] hold chain c? If it is open, more frames may follow.
function holds(c, first, last,    i) {
	if (open[c] ? last - first < length_of[c] : last - first != length_of[c])
		return 0
	for (i = 1; i <= length_of[c]; i++)
		if (part[c, i] != "*" && part[c, i] != frames[first + i])
			return 0
	return 1
}

# Finds the chain that frames[2 ... last] hold above at most three frames before main or the
# thread's function.
function find_chain(comm, last,    c, before) {
	for (c = 1; c <= nr_chains; c++) {
		if (comm_of[c] != comm)
			continue
		for (before = 1; before <= 4; before++) {
			if (holds(c, before, last))
				return c
			if (frames[before + 1] == part[c, 1])
				break
		}
	}
	return 0
}

function bad_stack(why, stack, count) {
	if (!(why in bad_by) || count > bad_most[why]) {
		bad_most[why] = count
		example[why] = stack
	}
	bad_by[why] += count
	bad += count
}

{
	count = $NF
	stack = substr($0, 1, length($0) - length($NF) - 1)
	nr = split(stack, frames, ";")
}

# Reads the truth. Several processes may report the same chain.
NR == FNR {
	if (nr < 2 || count !~ /^[0-9]+$/)
		next
	if (!(stack in chain_of)) {
		c = chain_of[stack] = ++nr_chains
		name[c] = stack
		comm_of[c] = frames[1]
		open[c] = frames[nr] == "**"
		length_of[c] = nr - 1 - open[c]
		for (i = 1; i <= length_of[c]; i++)
			part[c, i] = frames[i + 1]
		if (!open[c])
			is_leaf[frames[nr]] = 1
	}
	true_ns[chain_of[stack]] += count
	all_ns += count
	next
}

{
	total += count
	last = user_part(frames, nr)
	for (i = 2; i <= nr; i++)
		if (is_marker(frames[i])) {
			bad_stack(frames[i], stack, count)
			next
		}
	c = last > 1 ? find_chain(frames[1], last) : 0
	if (c) {
		samples[c] += count
		matched += count
	} else if (frames[last] in is_leaf) {
		bad_stack("leaf below wrong callers", stack, count)
	} else if (last > 1 && !is_root(frames[2])) {
		bad_stack("root is none", stack, count)
	}
}

function verdict(ok) {
	if (!ok)
		failed = 1
	return ok ? "ok" : "FAILED"
}

END {
	if (!nr_chains || !matched) {
		print "no truth, or no sample that fits it"
		for (why in bad_by)
			printf "%s, %d of %d, as in %s\n", why, bad_by[why], total, substr(example[why], 1, 2000)
		exit 1
	}
	for (c = 1; c <= nr_chains; c++) {
		p = true_ns[c] / all_ns
		share = samples[c] / matched
		sigma = sqrt(p * (1 - p) / matched)
		off = sigma > 0 ? (share - p) / sigma : 0
		printf "%-6s true %6.2f %%  measured %6.2f %%  %+5.1f sigma  %s\n", verdict(off * off <= 9), \
			100 * p, 100 * share, off, substr(name[c], 1, 200)
	}
	printf "%-6s complete %.3f %% of %d\n", verdict(bad <= total * (broken ? broken : 1) / 1000), 100 * (1 - bad / total), total
	for (why in bad_by)
		printf "       %s: %d, as in %s\n", why, bad_by[why], substr(example[why], 1, 2000)
	elsewhere = 100 * (total - matched - bad) / total
	printf "%-6s elsewhere %.1f %%\n", verdict(elsewhere <= (other ? other : 5)), elsewhere
	if (hz) {
		ratio = matched / (all_ns * hz / 1e9)
		printf "%-6s samples per tick of CPU time %.3f\n", verdict(ratio > 0.95 && ratio < 1.05), ratio
	}
	exit failed
}
