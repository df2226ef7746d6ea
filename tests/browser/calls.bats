# The page of sprof flame -o x.html in a real browser: one thread's calls in order of time, and the overview of a zoom.
load browser

setup() {
	needs_browser
	cp "$BATS_TEST_DIRNAME"/../golden/output/*.folded "$BATS_TEST_DIRNAME"/../golden/recordings/complete.data "$BATS_TEST_TMPDIR"
	cd "$BATS_TEST_TMPDIR"
	# Samples of 10 ms, as perf script prints them. Thread 11: 100 ms of load, 50 ms of nothing, 50 ms of lex below parse,
	# 50 ms of parse itself, 50 ms of load. Thread 12: 50 ms of idle work in between.
	sample() { # tid, ms, function...: the innermost first
		printf 'prog 10/%d %d.%03d000: 10000000 cpu-clock:\n' "$1" $((1 + $2 / 1000)) $(($2 % 1000))
		printf '\t1000 %s (/bin/prog)\n' "${@:3}"
		echo
	}
	{
		for ms in $(seq 0 10 100); do sample 11 "$ms" load main; done
		for ms in $(seq 110 10 150); do sample 12 "$ms" helper main; done
		for ms in $(seq 160 10 200); do sample 11 "$ms" lex parse main; done
		for ms in $(seq 210 10 250); do sample 11 "$ms" parse main; done
		for ms in $(seq 260 10 300); do sample 11 "$ms" load main; done
	} >order.txt
	"$SPROF" flame -t order order.txt -o order.html
}

page() { # options, file; the test is standard input
	{ cat "$BROWSER/page_helpers.js"; cat <<-'EOT'; cat; } | timeout 90 node "$BROWSER/page.js" "$@"
		// The boxes of a function: [from, to] in ms of the time shown, left to right.
		const calls = (name, [first, last] = [0, 300]) => page.eval(`(() => {
			const box = r => r.getBoundingClientRect(), {left, width} = box(document.querySelector("svg.sprof"));
			const ms = x => Math.round(${first} + (x - left - 10) / (width - 20) * ${last - first});
			return [...document.querySelectorAll('.frames g[role="treeitem"]')].filter(g => g.getAttribute("aria-label").split(/[ ,]/)[0] === ${JSON.stringify(name)})
				.map(g => box(g.querySelector("rect, polygon"))).map(r => [ms(r.left), ms(r.right)]);
		})()`);
		const caps = () => page.eval(`(() => {
			const box = r => r.getBoundingClientRect(), {left, width} = box(document.querySelector("svg.sprof"));
			return [...document.querySelectorAll(".frames .c")].map(box).map(r => [r.left, r.right].map(x => Math.round((x - left - 10) / (width - 20) * 300)));
		})()`);
	EOT
}

# bats test_tags=full
@test "time order: a thread's calls lie where they were, neighbours are one, and self time has its cap" {
	page --width=1280 order.html <<-'EOT'
		await page.key("x");
		assert.strictEqual(await page.eval("location.hash"), "#x=1");
		assert.deepStrictEqual(await calls("load"), [[0, 100], [250, 300]]);
		assert.deepStrictEqual(await calls("main"), [[0, 100], [150, 300]]);
		assert.deepStrictEqual(await calls("parse"), [[150, 250]]);
		assert.deepStrictEqual(await calls("lex"), [[150, 200]]);
		assert.deepStrictEqual(await calls("helper"), [], "it ran in another thread");
		assert.deepStrictEqual(await caps(), [[0, 100], [150, 200], [200, 250], [250, 300]]);
		await page.hover("parse");
		const lines = await page.status();
		assert.strictEqual(lines[0], "parse");
		assert.strictEqual(lines[1], "100 ms, from 150 ms to 250 ms \u00b7 10 samples");
		assert.match(lines[2], /^all calls of it: total 38%, 100 ms \u00b7 self 19%, 50.0 ms/);
		// The table is of this thread, the search too.
		assert.deepStrictEqual((await rows()).map(r => r[0]).sort(), ["lex", "load", "main", "parse"]);
		assert.match(await search("lex"), /^19% \u00b7 self 19%/);
		assert.strictEqual(await page.eval("document.querySelectorAll('.frames .hit').length"), 1);
		await search("");
		// The axis has round times.
		const ticks = await page.eval("[...document.querySelectorAll('.frames .axis text')].map(t => t.textContent)");
		assert.deepStrictEqual(ticks.slice(0, 3), ["0", "50 ms", "100 ms"]);
		await page.eval("document.activeElement.blur()");
		await page.key("x");
		assert((await page.labels()).some(l => l.startsWith("all 100%")));
	EOT
}

# bats test_tags=full
@test "time order: a click on a call or a drag chooses its time, Esc and back lead out" {
	page --width=1280 order.html <<-'EOT'
		await page.key("x");
		const before = await page.eval(`document.querySelector(".frames").outerHTML`);
		await page.click("parse");
		const range = (await page.eval("location.hash")).match(/w=(\d+)-(\d+)/).slice(1).map(Number);
		assert.deepStrictEqual(range, [150001, 250001]);
		assert.deepStrictEqual(await calls("parse", [150, 250]), [[150, 250]]);
		assert.deepStrictEqual((await rows()).map(r => [r[0], r[2]]).sort(), [["lex", "50% 50.0 ms"], ["main", "100% 100 ms"], ["parse", "100% 100 ms"]]);
		assert(!await page.eval("document.querySelector('.heat .brush').hidden"), "the heat map shows the time");
		await page.key("Escape");
		assert.strictEqual(await page.eval(`document.querySelector(".frames").outerHTML`), before);
		await page.key("u");
		await until(`location.hash.includes("w=150001-250001")`);
		await page.key("Escape");
		// A drag over the picture.
		const at = await page.eval(`(() => { const r = document.querySelector(".frames").getBoundingClientRect(); return {x: r.x, y: r.y + r.height / 2, width: r.width}; })()`);
		await page.mouse("mousePressed", {x: at.x + at.width * .1, y: at.y});
		await page.send("Input.dispatchMouseEvent", {type: "mouseMoved", x: at.x + at.width * .3, y: at.y, button: "left", buttons: 1});
		assert.strictEqual(await page.eval("document.querySelectorAll('.brush[width]').length"), 1);
		await page.send("Input.dispatchMouseEvent", {type: "mouseMoved", x: at.x + at.width * .5, y: at.y, button: "left", buttons: 1});
		await page.mouse("mouseReleased", {x: at.x + at.width * .5, y: at.y});
		const [from, to] = (await page.eval("location.hash")).match(/w=(\d+)-(\d+)/).slice(1).map(Number);
		assert(Math.abs(from - 30000) < 1500 && Math.abs(to - 150000) < 1500, `${from} to ${to}`);
		assert.strictEqual(await page.eval("document.querySelectorAll('rect.brush').length"), 0);
		await page.key("Escape");
		await page.key("Escape");
		// By keyboard.
		await page.key("ArrowUp");
		await page.key("ArrowUp");
		await page.key("ArrowUp");
		await page.key("Enter");
		assert.match(await page.eval("location.hash"), /w=\d+-\d+/);
		await page.key("i");
		assert.match(await page.eval("location.hash"), /^#i=1/);
	EOT
}

# bats test_tags=full
@test "time order: the thread is chosen in a menu or in the timeline, and the address holds it" {
	page --width=1280 order.html <<-'EOT'
		assert(await page.eval("document.querySelector('select.thread').parentElement.hidden"));
		await page.key("x");
		assert.deepStrictEqual(await page.eval("[...document.querySelector('select.thread').options].map(o => o.text)"), ["prog (11)", "prog (12)"]);
		await page.eval(`(() => { const s = document.querySelector("select.thread"); s.value = "10.12"; s.dispatchEvent(new Event("change")); })()`);
		assert.deepStrictEqual(await calls("helper"), [[100, 150]]);
		assert.deepStrictEqual(await calls("load"), []);
		assert.strictEqual(await page.eval("location.hash"), "#x=10.12");
		await page.eval(`[...document.querySelectorAll(".threads .names span")].find(s => /\\(11\\)/.test(s.textContent)).click()`);
		assert.strictEqual(await page.eval("location.hash"), "#x=10.11");
		assert.strictEqual((await calls("load")).length, 2);
		await page.eval(`location.hash = "#x=10.12&w=120001-130001"`);
		await until(`document.querySelector("select.thread").value === "10.12"`);
		assert.deepStrictEqual(await calls("helper", [120, 130]), [[120, 130]]);
		for (const bad of ["#x=9.9", "#x=%3Cscript%3E", "#x=", "#x=1&w=5-2"]) {
			await page.eval(`location.hash = "${bad}"`);
			await until(`document.querySelector("select.thread").value === "10.11"`);
			assert.strictEqual((await calls("load")).length, 2);
		}
		await page.eval(`location.hash = ""`);
		await until(`document.querySelector("select.thread").parentElement.hidden`);
	EOT
	"$SPROF" flame kinds.folded -o kinds.html
	page kinds.html <<-'EOT'
		await page.key("x");
		assert.strictEqual(await page.eval("location.hash"), "", "collapsed stacks have no times");
		assert(await page.eval("[...document.querySelectorAll('.tools button')].find(b => b.textContent === 'time order').hidden"));
	EOT
}

# bats test_tags=full
@test "time order: more samples than columns are drawn by what took most of each, and a time chosen shows all" {
	# 3000 samples a ms apart: of each 5, 4 are busy and the last one rare.
	for ms in $(seq 1 3000); do
		printf 'prog 10/11 %d.%03d000: 1000000 cpu-clock:\n\t1000 %s (/bin/prog)\n\t1000 main (/bin/prog)\n\n' \
			$((1 + ms / 1000)) $((ms % 1000)) "$([ $((ms % 5)) = 0 ] && echo rare || echo busy)"
	done >many.txt
	"$SPROF" flame many.txt -o many.html
	page --width=1280 many.html <<-'EOT'
		await page.key("x");
		assert.deepStrictEqual((await calls("busy", [0, 2999])), [[0, 2999]]);
		assert.match((await page.status()).join(" "), /each [0-9.]+ ms shows what took most of it/);
		// How long a thread ran in a column is not how wide that is.
		assert(!(await page.labels()).some(l => /^(main|busy).* s$/.test(l)), (await page.labels()).join());
		await page.hover("busy");
		assert.match((await page.status())[1], /^from 0.00 s to 3.00 s \u00b7 3000 samples \u00b7 drawn in columns of [0-9.]+ ms$/);
		assert.deepStrictEqual((await rows()).map(r => [r[0], r[1].split(" ")[0]]), [["busy", "80%"], ["rare", "20%"], ["main", "0%"]]);
		await page.eval(`location.hash = "#x=1&w=100000-150000"`);
		await until(`document.querySelectorAll(".frames g").length > 20`);
		assert.strictEqual((await calls("rare", [100, 150])).length, 10);
	EOT
}

# bats test_tags=full
@test "time order holds for a real recording, upside down, filtered, dark and on a telephone" {
	"$SPROF" flame complete.data -o complete.html
	for options in --width=1280 --width=390 "--width=1280 --dark"; do
		# shellcheck disable=SC2086 # options are words
		page $options complete.html <<-'EOT'
			await page.key("x");
			assert((await page.eval("document.querySelectorAll('.frames g[role=treeitem]').length")) > 5);
			const inside = () => page.eval(`(() => {
				const {left, right} = document.querySelector("svg.sprof").getBoundingClientRect();
				return [...document.querySelectorAll(".frames rect, .frames polygon")].every(r => r.getBoundingClientRect().left > left + 9 && r.getBoundingClientRect().right < right - 9);
			})()`);
			assert(await inside());
			for (const key of ["v", "r", "k", "l", "f"]) {
				await page.key(key);
				assert(await inside(), key);
				assert(await page.eval(`document.querySelectorAll(".frames .axis text").length > 1`), key);
			}
			assert.strictEqual(await page.eval("document.documentElement.scrollWidth > innerWidth"), false);
		EOT
	done
}

# bats test_tags=full
@test "while zoomed, a small picture of the whole shows the part in view, and leads back" {
	"$SPROF" flame -t kinds kinds.folded -o kinds.html
	"$SPROF" flame -t kinds kinds.folded -o kinds.svg
	for file in kinds.html kinds.svg; do
		page --width=1280 $file <<-'EOT'
			assert.strictEqual(await page.eval("document.querySelectorAll('.map').length"), 0);
			const whole = await page.place("all 100%"), box = await page.place("parse 18%");
			const part = (box.left - whole.left) / whole.width, wide = box.width / whole.width;
			await page.click("parse 18%");
			const [map, mark] = await page.eval(`[".map .ground", ".map .part"].map(s => document.querySelector(s).getBoundingClientRect().toJSON())`);
			assert(Math.abs((mark.left - map.left - 4) / (map.width - 4) - part) < .02, JSON.stringify([map, mark, part]));
			assert(Math.abs(mark.width / (map.width - 4) - wide) < .03);
			assert(await page.eval("document.querySelectorAll('.map path').length") > 2);
			// It covers no text.
			assert(await page.eval(`(() => {
				const {left, top, bottom} = document.querySelector(".map").getBoundingClientRect();
				return [...document.querySelectorAll(".status text")].every(t => { const r = t.getBoundingClientRect(); return !t.textContent || r.right <= left || r.bottom <= top || r.top >= bottom; });
			})()`));
			// A click in it leads to the frame there, one beside all frames to the whole.
			const {x, y} = await page.eval(`(() => { const r = document.querySelector(".map .part").getBoundingClientRect(); return {x: r.left + r.width / 2, y: r.bottom - 2}; })()`);
			await page.mouse("mousePressed", {x, y});
			await page.mouse("mouseReleased", {x, y});
			assert.match(await page.eval("location.hash"), /z=/);
			await page.mouse("mousePressed", {x: map.right - 2, y: map.top + 1});
			await page.mouse("mouseReleased", {x: map.right - 2, y: map.top + 1});
			assert.strictEqual(await page.eval("location.hash"), "");
			assert.strictEqual(await page.eval("document.querySelectorAll('.map').length"), 0);
		EOT
	done
}

# bats test_tags=full
@test "the overview of a diff and of a butterfly shows the part of each side" {
	cp "$BATS_TEST_DIRNAME/../golden/recordings/gpu.data" .
	"$SPROF" flame --butterfly cpu,gpu gpu.data -o butterfly.html
	"$SPROF" diff kinds.folded kinds.folded -o diff.html
	for file in butterfly.html diff.html; do
		page --width=1280 $file <<-'EOT'
			await page.key("ArrowUp");
			for (let i = 0; i < 3; i++)
				await page.key("ArrowUp");
			await page.key("Enter");
			assert(await page.eval("document.querySelectorAll('.map .part').length") >= 1);
			await page.key("Escape");
			assert.strictEqual(await page.eval("document.querySelectorAll('.map').length"), 0);
		EOT
	done
}
