# What others draw of our exports, in their own programs: speedscope's page, in Chromium. It is not in Debian, so this is
# for whoever has it: npm install --prefix build/npm speedscope, or SPEEDSCOPE=its folder.

BROWSER=$BATS_TEST_DIRNAME

setup() {
	bats_require_minimum_version 1.5.0
	command -v node >/dev/null || skip "node is not installed"
	command -v "${CHROMIUM:-chromium}" >/dev/null || skip "chromium is not installed"
	speedscope=${SPEEDSCOPE:-$BUILD/npm/node_modules/speedscope}/dist/release/index.html
	[ -e "$speedscope" ] || skip "needs speedscope: npm install --prefix build/npm speedscope"
	cp "$BATS_TEST_DIRNAME"/../golden/output/*.folded "$BATS_TEST_TMPDIR"
	cd "$BATS_TEST_TMPDIR"
}

# A file through speedscope: "self total function" of its table, sorted.
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
