# Large pages that have more than one tree: several columns, threads and times, a difference. As in large.bats the
# browser draws their outlines first.
# bats file_tags=full

BROWSER=$BATS_TEST_DIRNAME

# Prints what perf script prints of three threads.
threads() {
	awk 'BEGIN {
		for (i = 0; i < 30000; i++) {
			printf "app 7/%d %.6f: %d cpu-clock: \n", 7 + i % 3, 10 + i / 4000, 250000 * (1 + i % 9)
			for (j = 0; j < 10; j++) {
				seed = (seed * 16807 + 12345) % 2147483647
				printf "\t%x leaf%d (/bin/app)\n", 4096 + j, seed % 800
			}
			printf "\t1 step%d (/bin/app)\n\t1 part%d (/bin/app)\n\t1 run (/bin/app)\n\n", i % 7 * 13 + i % 13, i % 7
		}
	}'
}

# Prints a pprof profile as text: a column of time, and one of counts in other functions.
columns() {
	awk 'BEGIN {
		print "sample_type { type: 1 unit: 2 } sample_type { type: 3 unit: 4 } default_sample_type: 1"
		print "string_table: \"\" string_table: \"waited\" string_table: \"milliseconds\" string_table: \"requests\" string_table: \"count\""
		strings = 5
		functions(1, "run", 1); functions(2, "part", 7); functions(10, "zone", 3)
		functions(100, "step", 91); functions(300, "touch", 40)
		functions(1000, "leaf", 800); functions(2000, "fault", 800)
		for (i = 0; i < 30000; i++) {
			sample(1000, 100 + i % 7 * 13 + i % 13, 2 + i % 7, 1 + i % 9 " value: 0")
			if (i < 29000)
				sample(2000, 300 + i % 40, 10 + i % 3, "0 value: 1")
		}
	}
	function functions(id, name, nr) {
		for (i = 0; i < nr; i++) {
			printf "string_table: \"%s%d\" function { id: %d name: %d } ", name, i, id + i, strings++
			printf "location { id: %d line { function_id: %d } }\n", id + i, id + i
		}
	}
	function sample(first, above, below, values) {
		printf "sample { "
		for (j = 0; j < 10; j++) {
			seed = (seed * 16807 + 12345) % 2147483647
			printf "location_id: %d ", first + seed % 800
		}
		printf "location_id: %d location_id: %d location_id: 1 value: %s }\n", above, below, values
	}' | protoc --encode perftools.profiles.Profile -I "$BROWSER/../cli/readers" profile.proto
}

# Stacks as in large.bats. After the change some frames are gone, some new, and some take more.
stacks() { # before or after
	awk -v after="$([ "$1" = after ] && echo 1)" 'BEGIN {
		for (i = 0; i < 28000; i++) {
			line = "app;run;part" i % 7 ";step" i % 7 * 13 + i % 13
			for (j = 0; j < 10; j++) {
				seed = (seed * 16807 + 12345) % 2147483647
				line = line ";leaf" seed % 800
			}
			gone = i % 7 == 3 && i % 13 == 5
			if (after ? !gone : i % 91 != 8)
				print line, (1 + i % 9) * (after && i % 7 == 2 ? 2 : 1)
		}
		print after ? "app;new 9000" : "app;old;older 9000"
	}'
}

setup_file() {
	cd "$BATS_FILE_TMPDIR"
	threads >threads.txt
	stacks before >before.folded
	stacks after >after.folded
	"$SPROF" flame -t threads threads.txt -o threads.html
	! command -v protoc >/dev/null || columns >columns.pb && "$SPROF" flame -t columns columns.pb -o columns.html
	for kind in html svg; do
		"$SPROF" diff before.folded after.folded -o diff.$kind >/dev/null
		"$SPROF" diff --absolute before.folded after.folded -o absolute.$kind >/dev/null
	done
}

setup() {
	bats_require_minimum_version 1.5.0
	command -v node >/dev/null || skip "node is not installed"
	command -v "${CHROMIUM:-chromium}" >/dev/null || skip "chromium is not installed"
	cd "$BATS_FILE_TMPDIR"
}

page() { # options, file; the test is standard input
	cat "$BROWSER/page_helpers.js" "$BROWSER/large_helpers.js" - | timeout 90 node "$BROWSER/page.js" "$@"
}

@test "a large diff is drawn before all of it is read, and nothing changes when it is" {
	for file in diff.html diff.svg absolute.html absolute.svg; do
		[ "$(grep -c 'class="data"' $file) $(grep -c 'class="nodes"' $file)" = "1 1" ]
		page $file <<-'EOT'
			assert(await isReading());
			const first = await frames(), table = await rows();
			assert(/\d+ frames merged/.test(first), "some frames are merged");
			assert(/class="d\d/.test(first) && /class="d\d new"/.test(first) && /class="h"/.test(first), "more, new and removed");
			const about = async () => {
				await page.mouse("mouseMoved", {x: 1, y: 1});
				await page.hover("part2");
				return page.status();
			};
			const lines = await about();
			assert.match(lines.join(), /part2.*total .* → /);
			await readOn();
			assert.strictEqual(await frames(), first);
			assert.deepStrictEqual([await about(), await rows()], [lines, table]);
			await again();
			assert.strictEqual(await frames(), first);
			assert.deepStrictEqual([await about(), await rows()], [lines, table]);
		EOT
	done
}

@test "a removed frame of a large diff that is merged with others opens when all is read" {
	page diff.html <<-'EOT'
		await mergedBoxOpens("r => r.getBoundingClientRect().x");
	EOT
}

@test "each large column of a page has an outline, and another column can be chosen while one is read" {
	[ -e columns.pb ] || skip "needs protoc (protobuf-compiler)"
	[ "$(grep -c 'class="data"' columns.html) $(grep -c 'class="nodes"' columns.html)" = "2 2" ]
	page columns.html <<-'EOT'
		const labels = () => page.labels().then(all => all.join());
		const choose = name => page.eval(`(() => {
			const select = document.querySelector("select[aria-label=column]");
			select.value = [...select.options].findIndex(o => new RegExp(${JSON.stringify(name)}).test(o.textContent));
			select.dispatchEvent(new Event("change"));
		})()`);
		assert(await isReading());
		const first = await frames(), table = await rows();
		assert.match(await labels(), /part3 1\d%/);
		// Another column, while this one is read.
		await choose("count");
		await until("[...document.querySelectorAll('.frames text')].some(t => t.textContent.startsWith('zone1'))");
		assert(await isReading());
		const faults = await frames(), faultTable = await rows();
		assert.notStrictEqual(faults, first);
		await readOn();
		assert.strictEqual(await frames(), faults);
		assert.deepStrictEqual(await rows(), faultTable);
		await again();
		assert.strictEqual(await frames(), faults);
		assert.match(await search("^fault77$"), / · 1 function$/);
		await page.key("Escape");
		// Back to the first, which is read again.
		await page.eval("hold()");
		await page.key("c");
		await until("[...document.querySelectorAll('.frames text')].some(t => t.textContent.startsWith('part3'))");
		assert(await isReading());
		assert.strictEqual(await frames(), first);
		assert.strictEqual(await search("^leaf77$"), READING);
		await readOn();
		assert.match(await page.found(), / · 1 function$/);
		await page.key("Escape");
		await again();
		assert.strictEqual(await frames(), first);
		assert.deepStrictEqual(await rows(), table);
	EOT
}

@test "what the address asks of another large column is shown once that is read" {
	[ -e columns.pb ] || skip "needs protoc (protobuf-compiler)"
	page columns.html <<-'EOT'
		const name = await page.eval("[...document.querySelectorAll('select[aria-label=column] option')][1].textContent");
		await page.key("c");
		await until("/^#c=/.test(location.hash)");
		await readOn();
		await page.key("i");
		await until("/i=1/.test(location.hash)");
		const hash = await page.eval("location.hash"), inverted = await frames();
		await page.eval("hold(); history.go(-2)");
		await until("location.hash === ''");
		await until("document.querySelector('svg.sprof.reading')");
		await page.eval("history.go(2)");
		await until("location.hash === " + JSON.stringify(hash));
		await until("[...document.querySelectorAll('.frames text')].some(t => t.textContent.startsWith('zone1'))");
		assert.strictEqual(await page.found(), READING);
		await readOn();
		assert.strictEqual(await frames(), inverted);
		assert.strictEqual(await page.eval("location.hash"), hash);
	EOT
}

@test "a large page shows its times and threads at once, and what needs a sample's stack waits" {
	[ "$(grep -c 'class="data"' threads.html) $(grep -c 'class="nodes"' threads.html)" = "1 1" ]
	page threads.html <<-'EOT'
		assert(await isReading());
		assert.strictEqual(await page.eval("document.querySelectorAll('.heat .names span').length"), 3);
		const {x, y, wide} = await page.eval(`(() => {
			const {x, y, width, height} = document.querySelector(".heat canvas").getBoundingClientRect();
			return {x, y: y + height / 2, wide: width};
		})()`);
		const first = await frames(), table = await rows();
		await page.mouse("mousePressed", {x: x + wide * .25, y});
		for (const part of [.3, .4, .5])
			await page.mouse("mouseMoved", {x: x + wide * part, y});
		await page.mouse("mouseReleased", {x: x + wide * .5, y});
		assert.strictEqual(await page.eval("document.querySelector('.brush').hidden"), false);
		assert.strictEqual(await page.found(), READING);
		assert.deepStrictEqual([await frames(), await rows()], [first, table]);
		await readOn();
		assert.match(await page.eval("location.hash"), /^#w=\d+-\d+$/);
		assert.match((await page.status()).join(), / to /);
		await page.key("Escape");
		await page.eval("document.querySelector('.heat').focus()");
		await page.key("Escape");
		await until("location.hash === ''");
		await again();
		assert.strictEqual(await frames(), first);
		// Thread by thread: the boxes of the threads are the whole.
		await page.key("t");
		await until("location.hash === '#t=thread'");
		assert.strictEqual((await page.labels()).filter(label => /^app \(\d\) \d+%/.test(label)).length, 3);
	EOT
}
