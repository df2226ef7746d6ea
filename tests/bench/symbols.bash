# Measures how fast addresses get their names, with inlined functions and lines, beside addr2line
# and llvm-symbolizer.

# Link-time addresses of bytes in functions: all equally likely, and the same in every run.
random_addresses() { # binary, how many
	nm -S --defined-only "$1" | perl -ne '
		BEGIN { $want = pop @ARGV; srand 1 }
		if (/^(\w+) (\w+) [tTwW] / && hex $2) { push @start, hex $1; push @end, ($total += hex $2) }
		END {
			for (1 .. $want) {
				my ($at, $lo, $hi) = (int rand $total, 0, $#end);
				while ($lo < $hi) { my $mid = int(($lo + $hi) / 2);
					if ($end[$mid] <= $at) { $lo = $mid + 1 } else { $hi = $mid } }
				printf "0x%x\n", $start[$lo] + $at - ($lo ? $end[$lo - 1] : 0);
			}
		}' "$2"
}

# Compares two answers in the output format of addr2line -a -f -i. Prints the number of frames in
# the first, and the percentages of them that differ from the second in number, that differ in line,
# and that have no line in the first.
disagreement() { # ours, theirs
	perl -e '
		sub answers { my @all; open my $f, "<", shift; while (<$f>) {
			if (/^0x[0-9a-f]+$/) { push @all, []; next }
			chomp(my $place = <$f>); $place =~ s/ \(.*//; push @{$all[-1]}, $place =~ /:(\d+|\?)$/ } @all }
		my @ours = answers shift; my @theirs = answers shift;
		my ($frames, $other, $line, $none) = (0, abs(@ours - @theirs), 0, 0);
		for my $i (0 .. $#ours) {
			my ($a, $b) = ($ours[$i], $theirs[$i] // []); $frames += @$a;
			if (@$a != @$b) { $other++; next }
			for (0 .. $#$a) { $a->[$_] eq $b->[$_] or $a->[$_] ? $line++ : $none++ }
		}
		printf "%d %.4f %.4f %.4f\n", $frames, map { 100 * $_ / ($frames || 1) } $other, $line, $none' "$1" "$2"
}

bench_symbols() {
	local nr=100000 big=$tools/big begin program
	# A missing program would look fast.
	for program in "$tools/symbolize" llvm-symbolizer addr2line; do
		command -v "$program" >/dev/null || die "cannot run '$program': build it or install it first (make bench does)"
	done
	tests/bench/build_big "$big"
	random_addresses "$big" "$nr" >"$work/addresses"
	answer() { # contender, command...: reads addresses, prints frames
		begin=$EPOCHREALTIME
		"$tools/usage" "$work/usage" "${@:2}" <"$work/addresses" >"$work/$1.answer" || true
		[ -s "$work/$1.answer" ] || die "'$2' answered nothing" 2>&3
		note "$1.s" "$(calc "$EPOCHREALTIME - $begin")"
		note "$1.cpu" "$(awk '{ print $1 }' "$work/usage")"
		note "$1.rss" "$(awk '{ print $2 }' "$work/usage")"
	}
	exec 3>&2
	for _ in $(seq "$ROUNDS"); do
		answer symbols "$tools/symbolize" "$big"
		answer llvm llvm-symbolizer --output-style=GNU -a -f -i -C -e "$big"
	done 2>/dev/null
	answer addr2line addr2line -a -f -i -C -e "$big" 2>/dev/null
	read -r frames other line none < <(disagreement "$work/symbols.answer" "$work/addr2line.answer")
	title "Names, lines and inlined functions of $nr random addresses in $(debug_mb "$big") MB of DWARF 5, from nothing"
	row "sprof, start to end" "$(median symbols.s)" s "$(calc "$nr / 150000")"
	row "sprof, addresses per second" "$(calc "$nr / $(median symbols.s)")" /s
	row "sprof, CPU" "$(median symbols.cpu)" s
	row "llvm-symbolizer, start to end" "$(median llvm.s)" s
	row "addr2line, start to end, once" "$(median addr2line.s)" s
	row "sprof / llvm-symbolizer, CPU" "$(paired symbols.cpu / llvm.cpu)" x 0.4
	row "sprof / addr2line, CPU" "$(calc "$(median symbols.cpu) / $(median addr2line.cpu)")" x 0.2
	row "peak memory of sprof" "$(median symbols.rss)" MB 150
	row "peak memory of llvm-symbolizer" "$(median llvm.rss)" MB
	row "peak memory of addr2line" "$(median addr2line.rss)" MB
	row "addresses with other frames than addr2line, of $frames frames" "$other" % 0
	row "frames with another line than addr2line" "$line" % 0
	row "frames whose line is left out (in another file)" "$none" % 1
	report_recording "$big"
}

# The wait after a brief recording of such a program: from the signal that ends it to the table.
report_recording() { # binary
	stop_and_report() {
		kill "$1"
		wait "$1"
		"$SPROF" report "$work/data"
	}
	local taken
	for _ in $(seq "$ROUNDS"); do
		rm -f "$work/data"
		"$1" &
		local running=$!
		background=$running
		"$SPROF" record -q -F 999 -o "$work/data" -p $running &
		background+=" $!"
		until [ "$(info .samples)" -ge 1400 ]; do sleep 0.05; done 2>/dev/null
		begin=$EPOCHREALTIME
		stop_and_report $! >/dev/null 2>&1 || true
		note reported "$(calc "$EPOCHREALTIME - $begin")"
		end $running
		background=
	done 2>/dev/null
	taken=$(info .samples)
	row "from the signal to the report, $taken samples" "$(median reported)" s 0.4
}
