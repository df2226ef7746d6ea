# Measures what counting a call with sprof record --calls costs, beside perf stat with a probe made
# by perf probe.

bench_calls() {
	local nr=${QUICK:+20000} name value probes=
	nr=${nr:-200000}
	build_tool counted
	take() { # contender, the output of counted
		while read -r name value; do note "$1_$name" "$value"; done <<<"$2"
	}
	perf probe -q -d 'probe_counted:*' >/dev/null 2>&1 || true
	perf probe -q -x "$tools/counted" push plain 2>/dev/null && probes=1
	for _ in $(seq "$ROUNDS"); do
		take calls_alone "$("$tools/counted" "$nr")"
		take calls_sprof "$("$SPROF" record -q -F 99 -o "$work/data" --calls push --calls cet --calls plain -- "$tools/counted" "$nr")"
		[ -z "$probes" ] || take calls_perf "$(perf stat -e 'probe_counted:*' -- "$tools/counted" "$nr" 2>/dev/null)"
	done
	[ -z "$probes" ] || perf probe -q -d 'probe_counted:*' >/dev/null 2>&1 || true
	title "A call that is counted, $nr of each; added to the call"
	row "sprof, a function that begins with a push" "$(paired calls_sprof_push - calls_alone_push)" ns
	row "sprof, with endbr64 and a push" "$(paired calls_sprof_cet - calls_alone_cet)" ns
	row "sprof, with what the kernel cannot emulate" "$(paired calls_sprof_plain - calls_alone_plain)" ns
	if [ -z "$probes" ]; then
		echo "  skipped: perf probe cannot put a probe here"
		return
	fi
	row "perf stat -e probe:..., a push" "$(paired calls_perf_push - calls_alone_push)" ns
	row "perf stat -e probe:..., not emulated" "$(paired calls_perf_plain - calls_alone_plain)" ns
}
