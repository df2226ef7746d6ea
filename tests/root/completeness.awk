# Measures how complete the stacks in the output of `sprof fold` are. Prints: samples, percent
# complete, mean number of frames, and the reasons for the rest, the most frequent first. A stack is
# complete if it holds no marker and its root is a thread's first function.
function incomplete(why) {
	reasons[why] += count
	bad += count
}

{
	count = $NF
	stack = substr($0, 1, length($0) - length($NF) - 1)
	nr = split(stack, frames, ";")
	total += count
	all_frames += count * (nr - 1)
	for (i = 2; i <= nr; i++)
		if (is_marker(frames[i])) {
			incomplete(frames[i])
			next
		}
	if (user_part(frames, nr) > 1 && !is_root(frames[2]))
		incomplete("root is " frames[2])
}

END {
	if (!total) {
		print "0 0 0 no samples"
		exit 1
	}
	printf "%d %.3f %.1f ", total, 100 * (1 - bad / total), all_frames / total
	while (bad > 0) {
		most = ""
		for (why in reasons)
			if (most == "" || reasons[why] > reasons[most])
				most = why
		printf "%s%d %s", separator, reasons[most], most
		separator = ", "
		bad -= reasons[most]
		delete reasons[most]
	}
	print separator == "" ? "-" : ""
}
