# Reads sprof's exports with the programs they are for: speedscope's page, in Chromium, and the Firefox Profiler's own
# code, which its authors publish for the command line. Neither is in Debian. npm fetches them once, if it is installed;
# SPEEDSCOPE and PROFILER_CLI may name their folders instead.
# bats file_tags=full
load browser

setup_file() {
	local npm=$BUILD/npm/node_modules
	[ -e "$npm/speedscope" ] && [ -e "$npm/@firefox-devtools/profiler-cli" ] && return
	timeout 90 npm install --prefix "$BUILD/npm" --no-audit --no-fund --ignore-scripts speedscope@1.25.0 \
		@firefox-devtools/profiler-cli@0.10.0 >/dev/null 2>&1 || true
}

setup() {
	needs_node
	cp "$BATS_TEST_DIRNAME"/../golden/output/*.folded "$BATS_TEST_DIRNAME"/../golden/recordings/complete.data "$BATS_TEST_TMPDIR"
	cd "$BATS_TEST_TMPDIR"
}

teardown() {
	[ ! -d sessions ] || profiler_cli stop --all
}

# Opens a file in speedscope and prints "self total function" of its table, sorted.
in_speedscope() { # file
	printf 'speedscope.loadFileFromBase64("%s", "%s")' "$1" "$(base64 -w0 "$1")" >load.js
	timeout 90 node "$BROWSER/page.js" --static "$speedscope#localProfilePath=$PWD/load.js&view=sandwich" >table <<-'EOT'
		for (const end = Date.now() + 60000; await page.eval("document.querySelectorAll('tr').length") < 2;)
			assert(Date.now() < end, "speedscope shows no table");
		for (const [total, self, name] of await page.eval(`[...document.querySelectorAll("tr")].slice(1).map(row =>
				[...row.cells].map(cell => cell.textContent))`))
			console.log(...[self, total].map(text => text.replace(/[,]| .*/g, "")), name);
		page.incidents.length = 0; // it says on the console what it does
	EOT
	sort table
}

@test "speedscope shows the self and total of the report, to the last one" {
	command -v "${CHROMIUM:-chromium}" >/dev/null || skip "chromium is not installed"
	speedscope=${SPEEDSCOPE:-$BUILD/npm/node_modules/speedscope}/dist/release/index.html
	[ -e "$speedscope" ] || skip "npm cannot fetch speedscope: set SPEEDSCOPE to its folder"
	for input in kinds split; do
		"$SPROF" report --json $input.folded | jq -r '.rows[] | "\(.self) \(.total) \(.function)"' | sort >want
		[ "$(wc -l <want)" -gt 3 ]
		"$SPROF" export -f speedscope -o $input.json $input.folded
		in_speedscope $input.json | diff want -
		"$SPROF" export -f pprof -o $input.pb.gz $input.folded
		in_speedscope $input.pb.gz | diff want -
		"$SPROF" fold $input.folded >$input.txt
		in_speedscope $input.txt | sed 's/_\[[kijg]\]$//' | sort | diff want -
	done
}

# The Firefox Profiler without its window: a daemon that loads one profile and answers queries.
profiler_cli() {
	HOME=$PWD PROFILER_CLI_SESSION_DIR=$PWD/sessions timeout 60 node "$profiler_cli" "$@"
}

# Prints "self total name" of every function that the Firefox Profiler lists, all threads together, in ns or samples.
in_firefox() { # file
	local thread
	mkdir -p sessions
	# The client waits half a second for its daemon, which keeps loading after that.
	profiler_cli load "$PWD/$1" --session "$1" >load.log 2>&1 || true
	for _ in $(seq 20); do
		profiler_cli thread list --json --session "$1" >threads.json 2>>load.log && break
		sleep 0.5
	done
	[ -s threads.json ] || { cat load.log; return 1; }
	for thread in $(jq -r '.threads[].threadHandle' threads.json); do
		profiler_cli thread functions --thread "$thread" --include-idle --json --session "$1"
	done >functions.json
	profiler_cli stop "$1" >/dev/null
	jq -rs 'map((if .weightType == "samples" then 1 else 1e6 end) as $unit | .functions[] |
		{name, self: (.selfSamples * $unit | round), total: (.totalSamples * $unit | round)}) | '"$BY_NAME" functions.json
}

BY_NAME='group_by(.name)[] | "\(map(.self) | add) \(map(.total) | add) \(.[0].name)"'

@test "the Firefox Profiler shows the self and total of the report, to the last one" {
	profiler_cli=${PROFILER_CLI:-$BUILD/npm/node_modules/@firefox-devtools/profiler-cli}/dist/profiler-cli.js
	[ -e "$profiler_cli" ] || skip "npm cannot fetch @firefox-devtools/profiler-cli: set PROFILER_CLI to its folder"
	for input in kinds.folded split.folded complete.data; do
		"$SPROF" export -f firefox -o $input.json $input 2>/dev/null
		"$SPROF" report -n 0 --json $input 2>/dev/null | jq -r '[.rows[] |
			{name: .function, self: (.self_ns // .self), total: (.total_ns // .total)}] | '"$BY_NAME" >want
		[ "$(wc -l <want)" -gt 3 ]
		in_firefox $input.json | diff want -
	done
}
