# From collapsed stacks to a picture, beside the other programs that draw them. Neither is in
# Debian: `cargo install inferno`, and https://github.com/brendangregg/FlameGraph. Rivals that are
# missing are reported and left out.

# The two functions below take the command from ${rivals[NAME]} and the budget from
# ${budgets[NAME]}.
each_rival() { # FUNCTION FILE NAME...: calls it for each rival that is installed
	local rival path
	for rival in "${@:3}"; do
		path=$(PATH=$PATH:$HOME/.cargo/bin command -v "${rivals[$rival]}") || continue
		"$1" "$rival" "$path" "$2" 2>/dev/null
	done
}

rival_rows() { # CONTENDER SUFFIX NAME...: their CPU time, and sprof's divided by it
	local rival
	for rival in "${@:3}"; do
		if [ ! -e "$work/$rival.cpu" ]; then
			echo "  skipped: ${rivals[$rival]} is not installed"
			continue
		fi
		row "${rivals[$rival]}$2" "$(median "$rival.cpu")" s
		row "sprof / ${rivals[$rival]}" "$(paired "$1.cpu" / "$rival.cpu")" x ${budgets[$rival]}
	done
}

# make_stacks.py says what the shapes are.
bench_stacks() {
	local nr=${QUICK:+100000} shape
	nr=${nr:-1000000}
	local -A rivals=([inferno]=inferno-flamegraph [perl]=flamegraph.pl)
	local -A budgets=([inferno]=0.35 [perl]=0.028)
	draw() { # contender, command...
		"$tools/usage" "$work/usage" "${@:2}" >"$work/svg"
		note "$1.cpu" "$(awk '{ print $1 }' "$work/usage")"
		note "$1.rss" "$(awk '{ print $2 }' "$work/usage")"
	}
	for shape in growing shuffled deep bushy; do
		PYTHONHASHSEED=0 python3 tests/bench/make_stacks.py "$nr" "$shape" >"$work/stacks"
		rm -f "$work"/{sprof_stacks,inferno,perl}.{cpu,rss}
		for _ in $(seq "$ROUNDS"); do
			draw sprof_stacks "$SPROF" flame "$work/stacks"
			each_rival draw "$work/stacks" inferno perl
		done
		title "$nr different collapsed stacks ($shape), $(($(wc -c <"$work/stacks") / 1000000)) MB, to an SVG; CPU time"
		row "sprof, with everything in it" "$(median sprof_stacks.cpu)" s
		row "peak memory of sprof" "$(median sprof_stacks.rss)" MB
		rival_rows sprof_stacks ", without what is too small to see" inferno perl
	done
}

# From the text of perf script to collapsed stacks. The text is a perf recording of gcc at work,
# repeated up to 100 MB.
bench_collapse() {
	local mb=${QUICK:+10}
	mb=${mb:-100}
	local -A rivals=([inferno_collapse]=inferno-collapse-perf [perl_collapse]=stackcollapse-perf.pl)
	local -A budgets=([inferno_collapse]=0.71 [perl_collapse]=)
	"$CC" -E -I. -D_GNU_SOURCE cli/main.c output/tree/tree.c core/profile/profile.c >"$work/program.i" 2>/dev/null
	perf record -q -F 4999 --call-graph fp -o "$work/perf.data" -- "$CC" -O2 -g -x cpp-output -c -o /dev/null "$work/program.i" \
		>/dev/null 2>&1 || true
	perf script -i "$work/perf.data" >"$work/once" 2>/dev/null
	[ -s "$work/once" ] || die "perf script says nothing of what perf recorded"
	while [ "$(stat -c %s "$work/script" 2>/dev/null || echo 0)" -lt $((mb * 1000000)) ]; do
		cat "$work/once" >>"$work/script"
	done
	collapse() { # contender, command...
		"$tools/usage" "$work/usage" "${@:2}" >"$work/folded.$1" 2>/dev/null
		note "$1.cpu" "$(awk '{ print $1 }' "$work/usage")"
	}
	for _ in $(seq "$ROUNDS"); do
		collapse sprof_collapse "$SPROF" fold "$work/script"
		each_rival collapse "$work/script" inferno_collapse perl_collapse
	done
	title "$(grep -c '^[^[:space:]]' "$work/script") samples of perf script, $(($(wc -c <"$work/script") / 1000000)) MB, to collapsed stacks; CPU time"
	row "sprof fold" "$(median sprof_collapse.cpu)" s
	rival_rows sprof_collapse "" inferno_collapse perl_collapse
}
