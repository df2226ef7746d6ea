# Measures what sprof top itself takes, and how soon its screen answers a key.

bench_top() {
	local seconds=${QUICK:+10} size median longest percent nr
	seconds=${seconds:-30}
	"$targets/deep32_nofp" 6000000 >/dev/null &
	background=$!
	for _ in $(seq "$ROUNDS"); do
		for size in "24 80" "50 200"; do
			read -r median longest percent nr < <(python3 tests/bench/top_keys.py $size "$seconds" "$SPROF" top -a)
			note "top.${size/ /x}.key" "$median"
			note "top.${size/ /x}.longest" "$longest"
			note "top.${size/ /x}.cpu" "$percent"
		done
	done
	end $background
	background=
	title "sprof top -a at its own rate beside one busy program, $nr keys in $seconds s"
	for size in "24 80" "50 200"; do
		row "${size/ / rows of } columns: CPU" "$(median "top.${size/ /x}.cpu")" % 1
		row "${size/ / rows of } columns: from a key to the screen, median" "$(median "top.${size/ /x}.key")" ms 50
		row "${size/ / rows of } columns: the longest" "$(median "top.${size/ /x}.longest")" ms 50
	done
}
