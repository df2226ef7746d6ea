# Pictures whose tree is so large that the browser draws its outline first, and reads all nodes after that.
load browser

setup() {
	needs_browser
	cd "$BATS_TEST_TMPDIR"
	# 28000 stacks: few frames that are wide, and ten narrow ones on each. The thin ones can only be seen in a wide window.
	awk 'BEGIN {
		for (i = 0; i < 28000; i++) {
			line = "app;run;part" i % 7 ";step" i % 7 * 13 + i % 13
			for (j = 0; j < 10; j++) {
				seed = (seed * 16807 + 12345) % 2147483647
				line = line ";leaf" seed % 800
			}
			print line, 1 + i % 9
		}
		for (i = 0; i < 30; i++)
			print "app;run;thin" i ";on" i, 45
		print "app;run 20000"
	}' >large.folded
	for kind in html svg; do
		"$SPROF" flame -t large large.folded -o large.$kind
	done
}

page() { # options, file; the test is standard input
	cat "$BROWSER/page_helpers.js" "$BROWSER/large_helpers.js" - | timeout 90 node "$BROWSER/page.js" "$@"
}

# bats test_tags=full
@test "a large picture is drawn before all of it is read, and nothing changes when it is" {
	for kind in html svg; do
		[ "$(grep -c 'class="data"' large.$kind) $(grep -c 'class="nodes"' large.$kind)" = "1 1" ]
		page large.$kind <<-'EOT'
			assert(await isReading());
			const first = await frames(), about = async () => {
				await page.mouse("mouseMoved", {x: 1, y: 1});
				await page.hover("part3");
				return page.status();
			};
			const lines = await about();
			assert(/\d+ frames merged/.test(first), "some frames are merged");
			assert.match(lines[1], /^total 12%.* of its caller\) · self 0% · \d+ ± \d+ samples/);
			await page.eval("window.someBox = document.querySelector('.frames g')");
			await readOn();
			assert.strictEqual(await frames(), first);
			assert(await page.eval("someBox.isConnected"), "boxes keep their elements");
			assert.deepStrictEqual(await about(), lines);
			await again();
			assert.strictEqual(await frames(), first);
			assert.deepStrictEqual(await about(), lines);
		EOT
	done
}

# bats test_tags=full
@test "the table of a large page is exact before all of it is read" {
	"$SPROF" report --json large.folded >report.json
	page large.html <<-EOT
		const {rows: expected} = $(jq -c '{rows: [.rows[] | {function, self, total}]}' report.json);
		assert(await isReading());
		const first = await rows(), whole = expected.reduce((sum, row) => sum + row.self, 0);
		assert.strictEqual(first.length, 100);
		for (const [name, self, total] of first) {
			const row = expected.find(row => row.function === name);
			const near = (text, value) => Math.abs(parseFloat(text.replace("<", "")) - value * 100 / whole) <= .5;
			assert(near(self, row.self) && near(total, row.total), [name, self, total, JSON.stringify(row)]);
		}
		await readOn();
		// Without inlined frames it is another tree, which is made of all nodes; here it has the same frames.
		await page.key("l");
		await until("location.hash === '#l=1'");
		assert.deepStrictEqual(await rows(), first);
	EOT
}

# bats test_tags=full
@test "a search that begins before all of a large page is read finds everything" {
	local expected
	expected=$(awk '{ sum += $NF } /leaf77;|leaf77 / { found += $NF } END { printf "%.2f", 100 * found / sum }' large.folded)
	for kind in html svg; do
		page large.$kind <<-EOT
			const expected = $expected;
			assert(await isReading());
			assert.strictEqual(await search("leaf77$"), READING);
			await page.key("Enter");
			await readOn();
			const found = await page.found();
			assert.match(found, / · 1 function$/);
			assert(Math.abs(parseFloat(found) - expected) <= .006, found + " is not " + expected);
			assert.strictEqual(await page.eval("document.querySelector('input').value"), "leaf77$");
			// Enter went to a match.
			assert.match((await page.status()).join(), /leaf77/);
			assert.strictEqual(await search("leaf78$") === found, false);
			assert.strictEqual(await search("leaf77$"), found);
		EOT
		page large.$kind <<-'EOT'
			assert.strictEqual(await search("leaf77$"), READING);
			await page.key("Escape");
			assert.strictEqual(await page.found(), "");
			await readOn();
			assert.strictEqual(await page.found(), "");
		EOT
	done
}

# bats test_tags=full
@test "what was zoomed, unfolded and asked for while a large page was read stays" {
	page large.html <<-'EOT'
		assert(await isReading());
		// The outline is enough for the lower frame, and not for the higher one.
		await page.click("run");
		const zoomed = await frames();
		assert.match((await page.status())[0], /^zoomed: /);
		await page.hover("part3");
		const [name] = await page.status();
		assert.strictEqual(name, "part3");
		await page.key("m");
		assert.strictEqual(await page.found(), READING);
		await readOn();
		assert.match(await page.found(), /^12%.* · 1 function$/);
		assert.strictEqual((await page.status())[0], name, "the pointer is still there");
		await page.key("Escape");
		assert.strictEqual(await frames(), zoomed.replace(/ hit"/g, '"'));
	EOT
	page large.html <<-'EOT'
		// A key that is pressed twice turns twice.
		for (const key of "iil") {
			await page.key(key);
			assert.strictEqual(await page.found(), READING);
		}
		assert.strictEqual(await page.eval("location.hash"), "");
		await readOn();
		assert.strictEqual(await page.eval("location.hash"), "#l=1");
		assert.strictEqual(await page.found(), "");
	EOT
	page large.html <<-'EOT'
		await mergedBoxOpens("r => r.getBBox().width");
	EOT
}

# bats test_tags=full
@test "the address of a large page is obeyed once all of it is read" {
	page 'large.html#i=1&q=leaf5' <<-'EOT'
		assert.strictEqual(await page.found(), READING);
		assert((await page.labels()).some(label => label.startsWith("part3")));
		await readOn();
		assert.strictEqual(await page.eval("location.hash"), "#i=1&q=leaf5");
		assert.match(await page.found(), / functions$/);
		assert(!(await page.labels()).some(label => label.startsWith("part3")));
	EOT
}

# bats test_tags=full
@test "a picture that is wider than its outline gets its narrow frames when they are read" {
	page --width=4800 large.svg <<-'EOT'
		assert(await isReading());
		const first = await frames();
		await readOn();
		const all = await frames();
		assert.notStrictEqual(all, first);
		await again();
		assert.strictEqual(await frames(), all);
	EOT
}

# bats test_tags=full
@test "a large page that was cut off shows what it has and says so" {
	head -c $(($(wc -c <large.html) - 200000)) large.html >cut.html
	page cut.html <<-'EOT'
		await readOn();
		assert.match(await page.found(), /^cannot read all stacks: this file is incomplete$/);
		assert((await page.labels()).some(label => label.startsWith("part3 12%")));
		await search("leaf77$");
		assert.match(await page.found(), /^cannot read all stacks/);
	EOT
}
