# Times pictures of a million different stacks in headless Chromium.

bench_browser() {
	local nr=${QUICK:+100000} shape kind name
	nr=${nr:-1000000}
	local -A budgets=([html.ready]=1000 [html.zoom]=50 [html.unzoom]=50 [html.search]=100 [html.memory]=300
		[svg.ready]=1000 [svg.zoom]=150 [svg.unzoom]=150 [svg.search]=150 [svg.memory]=300)
	if ! command -v node >/dev/null || ! command -v "${CHROMIUM:-chromium}" >/dev/null; then
		echo "  skipped: needs node and chromium"
		return
	fi
	for shape in growing shuffled deep bushy; do
		PYTHONHASHSEED=0 python3 tests/bench/make_stacks.py "$nr" "$shape" >"$work/stacks"
		for kind in html svg; do
			rm -f "$work/$kind".*
			"$SPROF" flame "$work/stacks" -o "$work/browser.$kind"
			timeout 300 node tests/browser/page.js "$work/browser.$kind" <tests/bench/browser.js >"$work/browser"
			while read -r name value; do note "$kind.$name" "$value"; done <"$work/browser"
		done
		browser_rows
	done
}

browser_rows() {
	title "$nr different stacks ($shape) in $("${CHROMIUM:-chromium}" --version 2>/dev/null | head -1), load $(cut -d' ' -f1 /proc/loadavg)"
	for kind in html svg; do
		for name in ready zoom unzoom search; do
			row "$kind: $name" "$(median $kind.$name)" ms "${budgets[$kind.$name]}"
		done
		row "$kind: all nodes are read" "$(median $kind.all)" ms
		row "$kind: longest pause while they are" "$(median $kind.pause)" ms
		row "$kind: memory" "$(median $kind.memory)" MB "${budgets[$kind.memory]}"
		row "$kind: memory, much later" "$(median $kind.memory_after)" MB
	done
}
