# From collapsed stacks to a picture, beside who else draws them. Neither is in Debian: `cargo install inferno`, and
# https://github.com/brendangregg/FlameGraph; what is not there is left out, and said.

bench_stacks() {
	local nr=${QUICK:+100000} rival path
	nr=${nr:-1000000}
	local -A rivals=([inferno]=inferno-flamegraph [perl]=flamegraph.pl)
	local -A budgets=([inferno]=0.35 [perl]=0.028)
	PYTHONHASHSEED=0 python3 tests/bench/make_stacks.py "$nr" >"$work/stacks"
	draw() { # contender, command...
		"$tools/usage" "$work/usage" "${@:2}" >"$work/svg"
		note "$1.cpu" "$(awk '{ print $1 }' "$work/usage")"
		note "$1.rss" "$(awk '{ print $2 }' "$work/usage")"
	}
	for _ in $(seq "$ROUNDS"); do
		draw sprof_stacks "$SPROF" flame "$work/stacks"
		for rival in inferno perl; do
			path=$(PATH=$PATH:$HOME/.cargo/bin command -v "${rivals[$rival]}") || continue
			draw "$rival" "$path" "$work/stacks" 2>/dev/null
		done
	done
	title "$nr different collapsed stacks, $(($(wc -c <"$work/stacks") / 1000000)) MB, to an SVG; CPU time"
	row "sprof, with everything in it" "$(median sprof_stacks.cpu)" s
	row "peak memory of sprof" "$(median sprof_stacks.rss)" MB
	for rival in inferno perl; do
		if [ ! -e "$work/$rival.cpu" ]; then
			echo "  skipped: ${rivals[$rival]} is not installed"
			continue
		fi
		row "${rivals[$rival]}, without what is too small to see" "$(median "$rival.cpu")" s
		row "sprof / ${rivals[$rival]}" "$(paired sprof_stacks.cpu / "$rival.cpu")" x "${budgets[$rival]}"
	done
}
