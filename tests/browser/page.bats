# The page of sprof flame -o x.html in a real browser: table, modes of the tree, heat map and address. The page must load
# nothing and run no code but its own.
load browser

setup() {
	needs_browser
	cp "$BATS_TEST_DIRNAME"/../golden/output/*.folded "$BATS_TEST_DIRNAME"/../golden/recordings/complete.data "$BATS_TEST_TMPDIR"
	cd "$BATS_TEST_TMPDIR"
	"$SPROF" flame -t kinds kinds.folded -o kinds.html
}

@test "the page holds the same picture as the SVG, and the same data" {
	"$SPROF" flame -t kinds kinds.folded -o kinds.svg
	picture() { sed -n '/<g class="frames">/,/<g class="legend">/p' "$1"; }
	[ "$(picture kinds.svg | wc -l)" -gt 20 ]
	diff <(picture kinds.svg) <(picture kinds.html)
	"$SPROF" flame -t kinds kinds.folded -o again.html
	cmp kinds.html again.html
	"$SPROF" flame --html -t kinds kinds.folded | cmp - kinds.html
	"$SPROF" flame --no-js -t kinds kinds.folded -o still.html
	! grep -q '<script' still.html || false
	page --no-script kinds.html <<-'EOT'
		const {documents: [d], strings} = await page.send("DOMSnapshot.captureSnapshot", {computedStyles: []});
		assert(d.layout.text.some(t => t >= 0 && strings[t] === "push_back 37% · self 26%"));
	EOT
}

@test "the table ranks functions as report does, by self, total and name" {
	"$SPROF" report --json kinds.folded >kinds.json
	page kinds.html <<-EOT
		const expected = $(jq -c '[.rows[] | .function]' kinds.json);
		const shown = await rows();
		assert.deepStrictEqual(shown.map(r => r[0]).sort(), expected.slice().sort());
		assert.deepStrictEqual(shown[0], ["push_back", "26%", "37%", "±2.5%", ""].map((t, i) => i ? t : shown[0][0]));
		assert.match(shown[0][0], /push_back/);
		await press("th.total button");
		const totals = (await rows()).map(r => parseFloat(r[2]));
		assert(totals.every((t, i) => !i || t <= totals[i - 1]), totals.join());
		await press("th.name button");
		const names = (await rows()).map(r => r[0]);
		assert.deepStrictEqual(names, names.slice().sort((a, b) => a < b ? -1 : 1));
		await press("th.name button");
		assert.deepStrictEqual((await rows()).map(r => r[0]), names.slice().reverse());
		assert.strictEqual(await page.eval("document.querySelector('th.name').getAttribute('aria-sort')"), "ascending");
	EOT
}

# bats test_tags=full
@test "the table has times and long bars, sorts by any column, and can be made wider" {
	"$SPROF" flame complete.data -o complete.html
	page --width=1280 complete.html <<-'EOT'
		assert((await rows()).every(r => /^(<?[0-9.]+%) [0-9.]+ (ns|us|ms|s)$/.test(r[1]) && / (ns|us|ms|s)$/.test(r[2])), JSON.stringify(await rows()));
		const bars = () => page.eval(`[...document.querySelectorAll("tbody .bar")].map(bar => [...bar.querySelectorAll("rect")].map(r => r.getBoundingClientRect().width))`);
		const aside = () => page.eval(`document.querySelector(".table").getBoundingClientRect().width`);
		const all = await bars(), wide = await aside();
		assert(Math.max(...all.map(([total]) => total)) > .9 * wide, "the longest bar is as long as its row");
		const shares = (await rows()).map(r => [parseFloat(r[2]), parseFloat(r[1])]), most = Math.max(...shares.map(([total]) => total));
		shares.forEach((pair, i) => pair.forEach((part, k) =>
			assert(Math.abs(all[i][k] / (wide - 8) - part / most) < .03, `row ${i}: ${all[i]} of ${wide} for ${pair}`)));
		// A name that is wider than its column keeps its end.
		assert(await page.eval(`[...document.querySelectorAll("tbody td.name")].every(td => td.scrollWidth <= td.clientWidth + 1)`));
		assert.match(await page.eval(`document.querySelector("caption").textContent`), / a full bar is [0-9.]+%/);
		for (const heading of ["name", "self", "total", "margin", "module"]) {
			await press(`th.${heading} button`);
			assert.strictEqual(await page.eval(`document.querySelector("th[aria-sort]").className`), heading);
		}
		await press("th.margin button");
		const margins = (await rows()).map(r => parseFloat(r[3].slice(1)));
		assert(margins.every((m, i) => !i || m <= margins[i - 1]), margins.join());
		// By pointer and by keyboard.
		const at = x => ({x, y: 300}), left = await page.eval(`document.querySelector(".divider").getBoundingClientRect().left + 2`);
		await page.mouse("mousePressed", at(left));
		await page.send("Input.dispatchMouseEvent", {type: "mouseMoved", ...at(left - 200), button: "left", buttons: 1});
		await page.mouse("mouseReleased", at(left - 200));
		assert(Math.abs(await aside() - wide - 200) < 8, `${await aside()} after ${wide}`);
		await until(`Math.abs(document.querySelector("svg.sprof").getBoundingClientRect().right - document.querySelector(".divider").getBoundingClientRect().left) < 3`);
		const wider = await aside();
		await page.eval(`document.querySelector(".divider").focus()`);
		await page.key("ArrowRight");
		assert(await aside() < wider - 10);
	EOT
}

# bats test_tags=full
@test "the bar of a row does not cover the underscores above it" {
	page kinds.html <<-'EOT'
		assert(await page.eval(`[...document.querySelectorAll("tbody td.name")].every(cell => {
			const range = document.createRange();
			range.selectNodeContents(cell.firstChild);
			return cell.querySelector(".bar").getBoundingClientRect().top >= range.getBoundingClientRect().bottom + 2;
		})`));
	EOT
}

# bats test_tags=full
@test "a click on a row highlights every frame of its function and shows their sums" {
	page kinds.html <<-'EOT'
		await press("tbody tr", "parse");
		assert.strictEqual(await page.found(), "30% · self 3.5% · 1 function");
		assert.strictEqual(await page.eval("document.querySelectorAll('.frames .hit').length"), 3);
		assert.strictEqual(await page.eval("document.querySelector('tr.marked td').title"), "parse");
		assert((await rows()).length > 5, "the other rows stay");
		await press("tbody tr", "parse");
		assert.strictEqual(await page.eval("document.querySelectorAll('.frames .hit').length"), 0);
		await page.hover("push_back 37%");
		await page.key("m");
		assert.match(await page.found(), /^37% · self 26%/);
	EOT
}

# bats test_tags=full
@test "search filters the table, by name, module, kind, self and total" {
	"$SPROF" flame complete.data -o complete.html
	page kinds.html <<-'EOT'
		assert.match(await search("kind:kernel"), /function/);
		assert((await rows()).length > 0 && (await rows()).length < 10);
		assert.strictEqual(await search("self>20%"), "63% · self 53% · 2 functions");
		assert.strictEqual((await rows()).length, 2);
		assert.match(await search("total>90%"), / \d functions$/);
		assert.strictEqual(await search("total>90% ^main"), "94% · self 0% · 1 function");
		assert.strictEqual(await search("self<0% kind:native"), "no match");
		assert.strictEqual(await search("kind:("), "not a regular expression");
	EOT
	page complete.html <<-'EOT'
		assert.match(await search("kind:jit"), /^10% .* 1 function$/);
	EOT
	# Reasons of waits, and what they were for.
	printf 'main;wait_for;work 50\nmain;wait_for;poll wait_[w];127.0.0.1:80_[w] 30\nmain;a;sleep_[w] 20\n' >waits.folded
	"$SPROF" flame waits.folded -o waits.html
	page waits.html <<-'EOT'
		assert.strictEqual(await search("kind:wait"), "50% · self 50% · 3 functions");
		assert.deepStrictEqual((await rows()).map(r => r[0]).sort(), ["127.0.0.1:80", "poll wait", "sleep"]);
		assert.deepStrictEqual(await page.eval(`[...document.querySelectorAll(".frames .hit text")].map(t => t.textContent.replace(/ \\d.*/, "")).sort()`), ["127.0.0.1:80", "poll wait", "sleep"]);
		assert.strictEqual(await search("kind:wait poll"), "30% · self 0% · 1 function");
		assert.match(await search("kind:native"), /^100% · self 50% · 4 functions$/);
	EOT
	page kinds.html <<-'EOT'
		await page.key("Escape");
		await page.click("parse 30%");
		await page.key("/");
		await page.type("next_token");
		assert.strictEqual(await page.found(), "26% · self 26% · 87% of this view · 1 function");
	EOT
	page complete.html <<-'EOT'
		const all = (await rows()).length;
		assert.match(await search("mod:make"), /function/);
		const found = await rows();
		assert(found.length && found.length < all && found.every(r => /make/.test(r[4])), JSON.stringify(found));
		assert.match(await search("file:."), /function|no match/);
	EOT
}

# bats test_tags=full
@test "callers and callees: all frames of a function are merged, with its callers below and its callees above" {
	page --width=1800 kinds.html <<-'EOT'
		await page.hover("parse 18%");
		await page.key("s");
		const labels = await page.labels();
		assert(labels.includes("parse 30% · self 3.5%"), labels.join());
		const root = await page.place("parse 30%"), callee = await page.place("next_token 18%");
		assert.strictEqual(Math.round(root.width), Math.round(await width()) - 20);
		assert(callee.top < root.top);
		const below = await page.eval(`[...document.querySelectorAll(".frames text")].filter(t =>
			t.getBoundingClientRect().top > ${root.top + 17}).map(t => t.textContent)`);
		assert.deepStrictEqual(below.filter(label => !/samples|box =/.test(label)), ["main 30%", "app 30%"]);
		assert.match((await page.status())[0], /^callers and callees of parse$/);
		await tiles();
		await page.key("0");
		assert((await page.labels()).includes("all 100%"));
		await page.eval(`[...document.querySelectorAll("tbody tr")].find(r => r.cells[0].title === "parse").focus()`);
		await page.key("s");
		assert((await page.labels()).includes("parse 30% · self 3.5%"));
		await page.key("Escape");
		assert((await page.labels()).includes("all 100%"));
	EOT
}

# bats test_tags=full
@test "bottom-up: functions with self time lie on the root, and their callers on them" {
	"$SPROF" report --json kinds.folded >kinds.json
	page kinds.html <<-EOT
		await page.key("i");
		const first = await page.eval(\`(() => {
			const gs = [...document.querySelectorAll(".frames g")], base = gs[0].querySelector("rect, polygon").getBoundingClientRect();
			const on = gs.filter(g => Math.abs(g.querySelector("rect, polygon").getBoundingClientRect().bottom - base.top + 1) < 1);
			return on.map(g => (g.querySelector("text") || {textContent: ""}).textContent);
		})()\`);
		assert(first.includes("push_back 26%") || first.some(l => /push_back 26%/.test(l)), first.join());
		assert.strictEqual(first.length, $(jq '[.rows[] | select(.self > 0)] | length' kinds.json));
		await tiles();
		await page.hover(first.find(l => /push_back/.test(l)));
		assert.match((await page.status())[1], /^self of push_back through here 26%/);
		await page.key("i");
		assert((await page.labels()).includes("push_back 37% · self 26%"));
	EOT
}

# bats test_tags=full
@test "every mode keeps the sums, and undo leads back" {
	"$SPROF" flame complete.data -o complete.html
	for f in kinds complete; do
		page $f.html <<-'EOT'
			const before = await page.eval(`document.querySelector(".frames").outerHTML`);
			for (const key of ["v", "r", "l", "k", "i"]) {
				await page.key(key);
				await tiles();
				assert.strictEqual(await page.eval(`document.querySelectorAll(".tools [aria-pressed=true]").length`), 1, key);
				await page.key(key);
				assert.strictEqual(await page.eval(`document.querySelector(".frames").outerHTML`), before, key);
			}
			for (const key of ["o", "t"]) {
				for (let i = 0; i < 4; i++) {
					await page.key(key);
					await tiles();
				}
			}
			await page.key("i");
			await page.key("r");
			await page.key("v");
			await tiles();
		EOT
	done
}

# bats test_tags=full
@test "merged recursion leaves a function once on each stack, and hidden kinds are gone" {
	page kinds.html <<-'EOT'
		const names = () => page.eval(`[...document.querySelectorAll(".frames text")].map(t => t.textContent.split(" ")[0])`);
		assert.strictEqual((await names()).filter(n => n === "parse").length, 3);
		await page.key("r");
		assert.strictEqual((await names()).filter(n => n === "parse").length, 1);
		assert((await page.labels()).includes("parse 30% · self 3.5%"));
		await page.key("r");
		assert(await page.eval(`document.querySelectorAll('.frames [class^="k"]').length`) > 0);
		await page.key("k");
		assert.strictEqual(await page.eval(`document.querySelectorAll('.frames [class^="k"]').length`), 0);
		await page.key("k");
		assert(await page.eval(`document.querySelectorAll(".frames .i").length`) > 0);
		await page.key("l");
		assert.strictEqual(await page.eval(`document.querySelectorAll(".frames .i").length`), 0);
	EOT
}

# bats test_tags=full
@test "order by total puts the widest first, upside down puts the root on top" {
	page kinds.html <<-'EOT'
		await page.eval(`(() => { const s = document.querySelector("select[aria-label='order by']"); s.value = "total"; s.dispatchEvent(new Event("change")); })()`);
		const main = await page.place("main 94%");
		const on = await page.eval(`[...document.querySelectorAll(".frames g > :is(rect, polygon):not(.c, .h)")].map(r => r.getBoundingClientRect())
			.filter(r => Math.abs(r.bottom - ${main.top} + 1) < 1 && r.x < ${main.left + main.width}).map(r => [r.x, r.width])`);
		on.sort((a, b) => a[0] - b[0]);
		assert(on.length > 1 && on.every((r, i) => !i || r[1] <= on[i - 1][1] + .1), JSON.stringify(on));
		await page.key("v");
		const root = await page.place("all 100%"), child = await page.place("main 94%");
		assert(child.top > root.top);
		await tiles();
	EOT
}

# bats test_tags=full
@test "the address holds the view, and back and forward step through the views" {
	page kinds.html <<-'EOT'
		await page.click("parse 30%");
		await page.key("v");
		await page.key("/");
		await page.type("next");
		const hash = await page.eval("location.hash");
		assert.match(hash, /^#v=1&z=[0-9a-f]{16}&q=next$/);
		await page.eval("document.activeElement.blur()");
		await page.key("u");
		await until(`!location.hash.includes("v=1")`);
		assert(!(await page.labels()).some(l => l.startsWith("read")), "still zoomed");
		await page.key("u");
		await until(`location.hash === ""`);
		await until(`[...document.querySelectorAll(".frames text")].some(t => t.textContent.startsWith("read"))`);
		await page.key("U");
		await until(`location.hash.includes("z=")`);
		await page.eval(`location.hash = ${JSON.stringify(hash)}`);
		await until(`document.querySelector("input").value === "next"`);
		assert.strictEqual(await page.eval(`document.querySelector(".tools [aria-pressed=true]").textContent`), "upside down");
		assert(!(await page.labels()).some(l => l.startsWith("read")));
		await page.eval(`location.hash = "#z=0123456789abcdef&o=nonsense&t=%3Cscript%3E&s=xyz&w=9-1"`);
		await until(`[...document.querySelectorAll(".frames text")].some(t => t.textContent.startsWith("read"))`);
	EOT
}

# bats test_tags=full
@test "a range of time is chosen in the heat map, and picture and table follow" {
	"$SPROF" flame complete.data -o complete.html
	page --width=1800 complete.html <<-'EOT'
		const heat = await page.eval(`(() => { const r = document.querySelector(".heat canvas").getBoundingClientRect();
			return {x: r.x, y: r.y, width: r.width, height: r.height}; })()`);
		// Cells are drawn, once the map has its size.
		await until(`(() => { const c = document.querySelector(".heat canvas");
			return c.getContext("2d").getImageData(0, 0, c.width, c.height).data.filter((v, i) => i % 4 === 3 && v).length > 500; })()`);
		const at = part => ({x: heat.x + heat.width * part, y: heat.y + heat.height / 2});
		const samples = () => page.eval(`Number(/ (\\d+) (± \\d+ )?samples/.exec([...document.querySelectorAll(".status text")].map(t => t.textContent).join(" "))[1])`);
		await page.hover("all 100%");
		const all = await samples();
		await page.mouse("mousePressed", at(.1));
		await page.mouse("mouseMoved", at(.3));
		await page.mouse("mouseMoved", at(.499));
		await page.mouse("mouseReleased", at(.499));
		assert.match(await page.eval("location.hash"), /^#w=\d+-\d+$/);
		await page.hover("all 100%");
		const first = await samples();
		assert(first > 0 && first < all, `${first} of ${all}`);
		assert.match(await page.eval(`document.querySelector("caption").textContent`), /in the time chosen/);
		await tiles();
		// The two halves add up to the whole.
		const columns = Number(await page.eval(`document.querySelector(".heat").getAttribute("aria-valuemax")`));
		const [, from, to] = /w=(\d+)-(\d+)/.exec(await page.eval("location.hash")).map(Number);
		let sum = 0;
		for (const w of [[0, from], [from, to], [to, 1e12]]) {
			await page.eval(`location.hash = "#w=${w.join("-")}"`);
			await until(`location.hash === "#w=${w.join("-")}"`);
			if (!w[1])
				continue;
			await page.mouse("mouseMoved", {x: 5, y: 5});
			await page.hover("all 100%");
			sum += await samples();
		}
		assert.strictEqual(sum, all);
		await page.eval(`document.querySelector(".heat").focus()`);
		await page.key("Escape");
		assert.strictEqual(await page.eval("location.hash"), "");
		await page.key("ArrowRight");
		assert.match(await page.eval("location.hash"), /^#w=0-/);
		const one = await page.eval("location.hash");
		await page.key("ArrowRight");
		assert.notStrictEqual(await page.eval("location.hash"), one);
	EOT
}

# bats test_tags=full
@test "threads and processes can be split and put together" {
	"$SPROF" flame complete.data -o complete.html
	page complete.html <<-'EOT'
		const split = async value => {
			await page.eval(`(() => { const s = document.querySelector("select[aria-label='split by']"); s.value = "${value}"; s.dispatchEvent(new Event("change")); })()`);
			await tiles();
			return page.eval(`[...document.querySelectorAll(".frames .t2 title, .frames .t2 text")].map(t => t.textContent)`);
		};
		assert((await split("thread")).some(t => /\(\d+\) \d/.test(t)), "thread ids");
		assert((await split("process")).some(t => /\(\d+\) \d/.test(t)), "process ids");
		assert.deepStrictEqual((await split("none")).map(t => t.split(" ")[0]), ["all"]);
	EOT
	page kinds.html <<-'EOT'
		assert.strictEqual(await page.eval(`document.querySelectorAll("select[aria-label='split by'] option").length`), 2);
		assert.strictEqual(await page.eval(`document.querySelectorAll(".heat").length`), 0, "collapsed stacks have no times");
	EOT
}

# bats test_tags=full
@test "a page shows any column of its recording, chosen by menu, key or address" {
	cp "$BATS_TEST_DIRNAME/../golden/recordings/gpu.data" .
	"$SPROF" flame gpu.data -o gpu.html
	"$SPROF" flame gpu.data --column gpu -o only.html
	for c in gpu launches; do "$SPROF" report --column $c --json gpu.data >$c.json; done
	page gpu.html <<-EOT
		const gpu = $(jq -c '[.rows[] | [.function, .self_ns, .total_ns]]' gpu.json);
		const launches = $(jq -c '[.rows[] | [.function, .self, .total]]' launches.json);
		const facts = () => page.eval("document.querySelector('.facts').textContent");
		const origin = async () => (await page.status())[0];
		const choose = async text => {
			await page.eval(\`(() => {
				const select = document.querySelector(".tools select[aria-label=column]");
				select.value = [...select.options].find(o => o.text === \${JSON.stringify(text)}).value;
				select.dispatchEvent(new Event("change"));
			})()\`);
			await until(\`document.querySelector(".tools select[aria-label=column]").selectedOptions[0].text === \${JSON.stringify(text)}
				&& !document.querySelector(".facts").textContent.startsWith("360 samples")\`);
		};
		const legend = () => page.eval("document.querySelector('.legend').innerHTML.replace(/ y=\"[0-9.]*\"/g, '')");
		const before = [await facts(), await origin(), await rows(), await legend()];
		assert.match(before[0], /^360 samples/);
		assert.match(before[1], /999 samples a second/);
		assert.deepStrictEqual(await page.eval("[...document.querySelector('.tools select').options].map(o => o.text)"),
			["CPU time", "GPU time", "GPU idle time", "GPU launches", "GPU gaps", "bytes copied"]);
		await choose("GPU time");
		assert.strictEqual(await facts(), "10 launches, 0 lost, 0% incomplete, 0% unnamed, every one counted");
		assert.match(await origin(), / of GPU time/);
		assert.strictEqual(await page.eval("location.hash"), "#c=gpu");
		assert.deepStrictEqual((await rows()).map(r => r[0]).sort(), gpu.map(r => r[0]).sort());
		const kernel = gpu.filter(r => r[1]).sort((a, b) => b[1] - a[1])[0];
		assert.strictEqual((await rows())[0][0], kernel[0]);
		assert(await page.eval("document.querySelector('.heat').hidden"), "no samples, no heat map");
		// Times in the tooltip, the colour of a kernel, and a complete picture.
		await tiles();
		await page.hover(kernel[0].slice(0, 6));
		await until("/ ms|us/.test(document.querySelector('.status').textContent)");
		assert(await page.eval("[...document.querySelectorAll('.frames g')].some(g => /^g[0-9]/.test(g.className.baseVal))"));
		assert.match(await legend(), />GPU</);
		await choose("GPU launches");
		assert.deepStrictEqual((await rows()).map(r => r[0]).sort(), launches.map(r => r[0]).sort());
		await page.eval("document.activeElement.blur()");
		await page.key("u");
		await until("location.hash === '#c=gpu' && document.querySelector('.facts').textContent.startsWith('10 launches')");
		await page.key("u");
		await until("document.querySelector('.facts').textContent.startsWith('360 samples')");
		assert.deepStrictEqual([await facts(), await origin(), await rows(), await legend()], before);
		await page.key("c");
		await until("location.hash === '#c=gpu'");
	EOT
	# The search stays; the address opens the column; --column chooses the first one.
	page gpu.html#c=gpu-idle <<-'EOT'
		assert.match((await page.status())[0], /of GPU idle time/);
		await page.key("i");
		await search("^.");
		await page.eval("document.activeElement.blur()");
		await page.key("c");
		await until("/^#c=launches&i=1&q=/.test(location.hash)");
		assert.strictEqual(await page.eval("document.querySelector('input').value"), "^.");
	EOT
	page only.html <<-'EOT'
		assert.match((await page.status())[0], / of GPU time/);
		assert.strictEqual(await page.eval("document.querySelector('.tools select').selectedOptions[0].text"), "GPU time");
	EOT
	[ "$("$SPROF" flame --html complete.data | grep -c 'class="data"')" = 1 ]
}

# bats test_tags=full
@test "a page puts any column below another, and its table has both" {
	cp "$BATS_TEST_DIRNAME/../golden/recordings/gpu.data" .
	"$SPROF" flame gpu.data -o gpu.html
	"$SPROF" flame --butterfly cpu,gpu gpu.data -o both.html
	for c in cpu gpu; do "$SPROF" report --column $c --json gpu.data >$c.json; done
	for file in gpu.html both.html; do
		page $file <<-EOT
			const roots = async () => (await page.labels()).filter(label => / time [0-9.]+ ms$/.test(label));
			const said = (rows, i) => Object.fromEntries(rows.map(row => [row[0].replace(/^.*::/, ""), row[i]]));
			const reported = {cpu: $(jq -c '[.rows[] | [.function, .self_ns, .total_ns]]' cpu.json),
				gpu: $(jq -c '[.rows[] | [.function, .self_ns, .total_ns]]' gpu.json)};
			if ("$file" === "gpu.html") {
				await page.key("b");
				await until("location.hash === '#b=gpu'");
			}
			await until("document.querySelector('.facts').textContent.startsWith('CPU time: 360 samples')");
			await tiles();
			assert.deepStrictEqual(await roots(), ["CPU time 360 ms", "GPU time 182 ms"]);
			assert(await page.eval("!document.querySelector('.heat') || document.querySelector('.heat').hidden"), "two columns have no common time");
			// cpu self, cpu total, gpu self, gpu total.
			const table = await rows(), whole = {cpu: 360, gpu: 182};
			let at = 1;
			for (const column of ["cpu", "gpu"]) {
				const sums = reported[column], all = column === "cpu" ? 360360360 : sums.reduce((n, r) => n + r[1], 0);
				for (const [name, self, total] of sums) {
					const row = table.find(row => row[0] === name);
					assert(row, name);
					for (const [i, value] of [[at, self], [at + 1, total]])
						assert(Math.abs(parseFloat(row[i]) - 100 * value / all) < .6, [name, i, row, value, all].join());
				}
				at += 2;
			}
			await page.eval("[...document.querySelectorAll('thead button')].find(b => b.textContent === 'gpu self').click()");
			assert.match((await rows())[0][0], /gemm/);
			// Swapped, by the menu; then one column alone again.
			const choose = (label, text) => page.eval(\`(() => {
				const select = document.querySelector(".tools select[aria-label='\${label}']");
				select.value = [...select.options].find(o => o.text === \${JSON.stringify(text)}).value;
				select.dispatchEvent(new Event("change"));
			})()\`);
			await choose("column", "GPU time");
			await until("document.querySelector('.facts').textContent.startsWith('GPU time: 10 launches')");
			assert.deepStrictEqual((await roots()).sort(), ["CPU time 360 ms", "GPU time 182 ms"]);
			await choose("below it", "none");
			await until("document.querySelector('.facts').textContent.startsWith('10 launches')");
			assert.deepStrictEqual(await roots(), []);
			await page.eval("document.activeElement.blur()");
			await page.key("u");
			await until("document.querySelector('.facts').textContent.startsWith('GPU time: 10 launches')");
		EOT
	done
	page "gpu.html#c=gpu&b=launches&i=1" <<-'EOT'
		assert.match((await page.status())[0], /^GPU time up, GPU launches down/);
		assert.strictEqual(await page.eval("document.querySelector('.tools [aria-label=\"below it\"]').selectedOptions[0].text"), "GPU launches");
		// Callers and callees are those of one column: the one that has the function.
		await page.hover("gemm");
		await page.key("s");
		await until("/s=[0-9a-f]{16}/.test(location.hash)");
		assert.match((await page.status())[1], /GPU time, callers below, callees above/);
	EOT
}

# bats test_tags=full
@test "a diff as a page has its changes in the table" {
	"$SPROF" diff before.folded after.folded -o d.html >/dev/null
	page d.html <<-'EOT'
		const first = (await rows())[0];
		assert.deepStrictEqual(first, ["next", "45%", "45%", "+15%", "+15%", ""]);
		assert((await rows()).some(r => r[0] === "write" && r[3] === "~"));
		for (const key of ["i", "i", "r", "r", "o"])
			await page.key(key);
		await page.key("0");
		await page.eval(`[...document.querySelectorAll("tbody tr")].find(r => r.cells[0].title === "lookup").focus()`);
		await page.key("s");
		assert((await page.labels()).some(l => l.startsWith("lookup 6.5% -5.6%")), (await page.labels()).join());
	EOT
}

# bats test_tags=full
@test "hostile names run no code in a page, wherever they are shown" {
	"$SPROF" flame -t '</title></script><script>alert(1)</script>"onload="alert(2)' hostile.folded -o hostile.html
	! grep -q '<script>alert' hostile.html || false
	page hostile.html <<-'EOT'
		const scripts = await page.eval("document.querySelectorAll('script').length");
		assert.strictEqual(scripts, 1);
		assert.match(await page.eval("document.title"), /^<\/title><\/script><script>alert/);
		for (const key of ["i", "i", "r", "v", "t", "o", "?", "?"])
			await page.key(key);
		const n = await page.eval("document.querySelectorAll('tbody tr').length");
		for (let i = 0; i < n; i++) {
			await page.eval(`document.querySelectorAll("tbody tr")[${i}].click()`);
			await page.eval(`document.querySelectorAll("tbody tr")[${i}].focus()`);
			await page.key("s");
			await page.key("0");
			await page.key("m");
		}
		assert.strictEqual(await page.eval("document.querySelectorAll('script, [onload], [onerror], iframe, img').length"), scripts);
		assert.strictEqual(await page.eval("document.title.includes('pwned')"), false);
	EOT
}

# bats test_tags=full
@test "the page's policy allows only its own script and style" {
	page kinds.html <<-'EOT'
		const csp = await page.eval(`document.querySelector("meta[http-equiv]").content`);
		assert.match(csp, /^default-src 'none'; style-src 'sha256-[A-Za-z0-9+/]{43}='; script-src 'sha256-[A-Za-z0-9+/]{43}='; base-uri 'none'; form-action 'none'$/);
		const {result} = await page.send("Runtime.evaluate", {awaitPromise: true, returnByValue: true,
			allowUnsafeEvalBlockedByCSP: false, expression: `(async () => {
			const s = document.createElement("script");
			s.textContent = "window.injected = 1";
			document.body.append(s);
			let evaluated = false;
			try { evaluated = new Function("return true")(); } catch (e) { evaluated = false; }
			const loaded = await fetch("data:text/plain,x").then(() => true, () => false);
			return [window.injected || null, evaluated, loaded];
		})()`});
		assert.deepStrictEqual(result.value, [null, false, false]);
		page.incidents.length = 0;
	EOT
}

# bats test_tags=full
@test "keys, roles and contrast: the page is accessible" {
	for scheme in --dark ""; do
		page $scheme kinds.html <<-'EOT'
			await page.key("?");
			assert.notStrictEqual(await page.eval(`getComputedStyle(document.querySelector(".help")).display`), "none");
			await page.key("Escape");
			assert.strictEqual(await page.eval(`getComputedStyle(document.querySelector(".help")).display`), "none");
			assert.strictEqual(await page.eval(`document.querySelectorAll("button:not([title]):not(.controls button), input:not([aria-label]), select:not([aria-label])").length`), 0);
			assert.strictEqual(await page.eval(`document.querySelectorAll("[role=status], [role=tree]").length`), 2);
			// WCAG 2: the contrast of every label and text with its background.
			const worst = await page.eval(`(() => {
				const light = color => { const [r, g, b] = color.match(/[0-9.]+/g).map(v => v / 255).map(v =>
					v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b; };
				const ratio = (a, b) => { const [x, y] = [light(a), light(b)]; return (Math.max(x, y) + .05) / (Math.min(x, y) + .05); };
				const fill = e => getComputedStyle(e).fill, ground = getComputedStyle(document.body).backgroundColor;
				const labels = [...document.querySelectorAll(".frames text")].map(t => ratio(fill(t), fill(t.parentNode.querySelector("rect"))));
				const texts = [...document.querySelectorAll(".status text, .facts, .legend text")].map(t => ratio(fill(t), ground));
				const cells = [...document.querySelectorAll("td, th button, caption, label")].map(t => ratio(getComputedStyle(t).color, ground));
				return [labels, texts, cells].map(list => Math.min(...list));
			})()`);
			assert(worst.every(r => r >= 4.5), JSON.stringify(worst));
		EOT
	done
}

# bats test_tags=full
@test "the page prints its picture and table, without the tools" {
	page kinds.html <<-'EOT'
		await page.send("Emulation.setEmulatedMedia", {media: "print"});
		const display = name => page.eval(`getComputedStyle(document.querySelector("${name}")).display`);
		assert.strictEqual(await display(".tools"), "none");
		assert.notStrictEqual(await display(".picture"), "none");
		assert.notStrictEqual(await display(".table"), "none");
		// The bars are lines below the names, as on the screen.
		const bars = await page.eval(`[...document.querySelectorAll("tbody .bar")].map(bar => bar.getBoundingClientRect().height)`);
		assert(bars.length > 5 && bars.every(height => Math.abs(height - 4) < .1), bars.join());
	EOT
}

# bats test_tags=full
@test "a picture is printed on one landscape page, the table of a page behind it" {
	awk 'BEGIN { for (i = 0; i < 28; i++) { s = s ";f" i; print "app" s " 1000" } }' >tall.folded
	"$SPROF" flame -t printed tall.folded -o tall.svg
	"$SPROF" flame -t printed tall.folded -o tall.html
	for i in tall.svg tall.html; do
		page --width=1280 --height=400 $i <<-EOT
			const print = async () => Buffer.from((await page.send("Page.printToPDF", {preferCSSPageSize: true, printBackground: true})).data, "base64").toString("latin1");
			await page.key("f");
			await page.eval(\`(document.querySelector(".picture") || document.documentElement).scrollTop = 1e6\`);
			const before = await page.labels(), pdf = await print();
			const boxes = [...pdf.matchAll(/MediaBox\s*\[\s*0 0 ([\d.]+) ([\d.]+)/g)].map(m => [Number(m[1]), Number(m[2])]);
			assert(boxes.length && boxes.every(([width, height]) => width > height), JSON.stringify(boxes));
			const pages = [...pdf.matchAll(/\/Type\s*\/Page\b/g)].length;
			assert.strictEqual(pages, "$i" === "tall.svg" ? 1 : 2);
			// After it the picture is as it was; while it lasts, the title is on top and nothing is cut.
			assert.deepStrictEqual(await page.labels(), before);
			await page.eval("window.dispatchEvent(new Event('beforeprint'))");
			await page.send("Emulation.setEmulatedMedia", {media: "print"});
			const [top, name, box, right, hints] = await page.eval(\`(() => {
				const svg = document.querySelector("svg.sprof"), of = s => document.querySelector(s).getBoundingClientRect();
				const boxes = [...document.querySelectorAll(".frames rect, .frames polygon")].map(r => r.getBoundingClientRect());
				return [svg.getBoundingClientRect().top, of(".name").top, Math.min(...boxes.map(r => r.top)),
					[Math.max(...boxes.map(r => r.right)), svg.getBoundingClientRect().right], document.querySelector(".status").textContent];
			})()\`);
			assert(name - top < 20 && name < box && right[0] <= right[1], JSON.stringify([top, name, box, right]));
			assert(!/click/.test(hints), hints);
		EOT
	done
}

# bats test_tags=full
@test "in a narrow and low window, too, the picture is scrolled to its root" {
	python3 -c 'print(";".join(f"f{i}" for i in range(80)), 90); print("f0;g", 10)' >deep.folded
	"$SPROF" flame deep.folded -o deep.html
	for width in 800 1200; do
		page --width=$width --height=500 deep.html <<-'EOT'
			const {top, left} = await page.eval(`(() => {
				const g = [...document.querySelectorAll(".frames g")].find(g => /^f0 100%/.test(g.textContent.trim()));
				const {top, left} = g.getBoundingClientRect();
				return {top, left};
			})()`);
			assert(top > 100 && top < 500, "the root lies at " + top);
			assert(await page.eval("document.documentElement.scrollWidth <= innerWidth"), "wider than the window");
		EOT
	done
}

# bats test_tags=full
@test "in a low window the head covers nothing that is scrolled to, and the search result leaves room for the title" {
	awk 'BEGIN { for (i = 0; i < 26; i++) { s = s ";f" i; print "app" s " 1000" } }' >tower.folded
	"$SPROF" flame -t "a title that is too long for what is left of the line" tower.folded -o tower.html
	"$SPROF" flame tower.folded -o tower.svg
	for i in tower.html tower.svg; do
		page $i <<-'EOT'
			await page.send("Emulation.setDeviceMetricsOverride", {width: 1200, height: 450, deviceScaleFactor: 1, mobile: false});
			await until(`innerHeight === 450`);
			const covered = await page.eval(`(() => {
				const scroller = document.querySelector(".picture") || document.documentElement, head = document.querySelector(".head .ground");
				return [...document.querySelectorAll(".frames g")].filter(g => {
					scroller.scrollTop = 1e6;
					g.scrollIntoView({block: "nearest"});
					window.dispatchEvent(new Event("scroll"));
					return g.getBoundingClientRect().top < head.getBoundingClientRect().bottom;
				}).length;
			})()`);
			assert.strictEqual(covered, 0);
			assert.match(await search("f"), /26 functions/);
			await page.click("f3");
			const [title, found] = await page.eval(`[".name", ".controls span"].map(s => document.querySelector(s).getBoundingClientRect())
				.map(r => [r.left, r.right])`);
			assert(title[1] <= found[0], `title up to ${title[1]}, found from ${found[0]}`);
		EOT
	done
}

# bats test_tags=full
@test "the tools are three groups in one row, and behind one button on a telephone" {
	"$SPROF" flame complete.data -o complete.html
	for width in 1280 390; do
		page --width=$width --height=800 complete.html <<-EOT
			const shown = () => page.eval(\`[...document.querySelectorAll(".tools :is(button, select)")].map(e => e.getBoundingClientRect())
				.filter(r => r.width).map(r => [Math.round((r.top + r.bottom) / 2), r.right])\`);
			const tools = await shown();
			assert.deepStrictEqual(await page.eval(\`[...document.querySelectorAll(".tools [role=group]")].map(g => g.getAttribute("aria-label"))\`),
				["views", "filters", "navigation"]);
			assert.strictEqual(tools.length, $width > 500 ? 12 : 1);
			assert(tools.every(([middle, right]) => Math.abs(middle - tools[0][0]) < 4 && right <= $width), JSON.stringify(tools));
			if ($width < 500) {
				const open = () => page.eval(\`(() => {
					const menu = document.querySelector(".tools .menu");
					menu.click();
					return menu.getAttribute("aria-expanded");
				})()\`);
				assert.strictEqual(await open(), "true");
				assert.strictEqual((await shown()).length, 13);
				assert((await shown()).every(([, right]) => right <= $width));
				assert.strictEqual(await open(), "false");
			}
			assert(await page.eval("document.documentElement.scrollWidth <= innerWidth"), "wider than the window");
		EOT
	done
}

# bats test_tags=full
@test "the heat map has times, a scale, and says what a column and a row are" {
	"$SPROF" flame complete.data -o complete.html
	for width in 1280 390; do
		page --width=$width complete.html <<-EOT
			const [ticks, shades, text, plot] = await page.eval(\`(() => {
				const of = e => { const {left, right} = e.getBoundingClientRect(); return [e.textContent, left, right]; };
				return [[...document.querySelectorAll(".heat .ticks span")].map(of), of(document.querySelector(".heat .shades")),
					of(document.querySelector(".heat p span")), of(document.querySelector(".heat .plot"))];
			})()\`);
			assert(ticks.length >= ($width > 500 ? 4 : 2), JSON.stringify(ticks));
			assert.strictEqual(ticks[0][0], "0");
			assert(ticks.slice(1).every(([at], i) => /^[1-9][0-9.]* m?s\$/.test(at)), JSON.stringify(ticks));
			assert(ticks.every(([, left, right], i) => !i || left >= ticks[i - 1][2]), "times do not overlap");
			assert(ticks.every(([,, right]) => right <= plot[2]), "no time is cut off");
			// The ticks stand where their times are.
			const ms = at => parseFloat(at) * (/ s\$/.test(at) ? 1000 : 1), scale = ticks.slice(1).map(([at, left]) => (left - plot[1]) / ms(at));
			assert(scale.every(n => Math.abs(n / scale[0] - 1) < .02), scale.join());
			assert.match(shades[0], /^1 +\d+ samples? in a cell\$/);
			assert.match(text[0], /column: .* row: .* of it, from bottom to top\$/);
			assert(shades[2] <= $width && text[2] <= shades[1], "nothing is cut or overlaps");
			assert.strictEqual(await page.eval("(e => e.scrollWidth <= e.clientWidth)(document.querySelector('.heat p span'))"), true, "the hint is whole");
		EOT
	done
}

@test "names in the table are whole, in two lines if need be, and keep both ends if they are longer" {
	printf 'main;short 1\nmain;_PyObject_GenericGetAttrWithDictAndMore 5\nmain;%s_the_end 4\n' "$(printf 'very_long_name_%.0s' {1..20})" >names.folded
	"$SPROF" flame names.folded -o names.html
	page --width=1000 names.html <<-'EOT'
		const shown = await page.eval(`[...document.querySelectorAll("td.name")].map(c => [c.firstChild.data, c.scrollWidth <= c.clientWidth])`);
		assert(shown.every(([, whole]) => whole), JSON.stringify(shown));
		const [[first], [second]] = shown;
		assert(first.includes("\n") && first.replace("\n", "") === "_PyObject_GenericGetAttrWithDictAndMore", first);
		assert.match(first, /[a-z_]\n[A-Z]/);
		assert.match(second, /^very_long_[^]*\n\u2026[^]*_the_end$/);
		assert(shown.some(([text]) => text === "short"));
	EOT
}

# bats test_tags=full
@test "on a telephone the title is whole, with the search field below it, and no line begins with a separator" {
	"$SPROF" flame -t "a title of thirty-six characters, all" kinds.folded -o kinds.html
	for width in 390 1280; do
		page --width=$width --height=844 kinds.html <<-EOT
			const places = async () => page.eval(\`["svg.sprof .name", "svg.sprof input", ".status .first", ".frames g"].map(s => {
				const {left, right, top, bottom} = document.querySelector(s).getBoundingClientRect();
				return {left, right, top, bottom};
			})\`);
			const checked = async () => {
				const [title, input, status, box] = await places(), narrow = $width === 390;
				assert.strictEqual(await page.eval("document.querySelector('svg.sprof .name').textContent"), "a title of thirty-six characters, all");
				assert(title.right <= $width && input.right <= $width, "inside the window");
				assert(narrow ? input.top >= title.bottom - 4 && input.bottom <= status.top + 4 : input.left >= title.right,
					"title and search field are apart");
				assert.deepStrictEqual(await page.eval("[...document.querySelectorAll('.status text')].map(e => e.textContent).filter(s => /^ ?\\u00b7/.test(s))"), []);
			};
			await checked();
			await search("a");
			assert.match(await page.found(), /%/);
			await checked();
		EOT
	done
}

# bats test_tags=full
@test "the timeline of threads shows which ran when, and a time is chosen in it" {
	"$SPROF" flame complete.data -o complete.html
	page --width=1280 complete.html <<-'EOT'
		const [names, lanes, map, rows0] = await page.eval(`(() => {
			const of = s => { const {left, width, top, height} = document.querySelector(s).getBoundingClientRect(); return {left, width, top, height}; };
			const canvas = document.querySelector(".threads canvas"), context = canvas.getContext("2d"), inked = [];
			for (let y = 6; y < canvas.height; y += 12) {
				const {data} = context.getImageData(0, y, canvas.width, 1);
				let n = 0;
				for (let i = 3; i < data.length; i += 4)
					n += data[i] > 0;
				inked.push(n);
			}
			return [[...document.querySelectorAll(".threads .names span")].map(e => e.textContent), of(".threads canvas"), of(".heat canvas"), inked];
		})()`);
		// The same threads as a split of the tree by thread.
		await page.eval(`(() => { const s = document.querySelector("select[aria-label='split by']"); s.value = "thread"; s.dispatchEvent(new Event("change")); })()`);
		const split = await page.eval(`[...document.querySelectorAll(".frames .t2")].map(g => g.getAttribute("aria-label").match(/[(][0-9]+[)]/)).filter(Boolean).map(m => m[0])`);
		assert(names.length > 1, names.join());
		assert.deepStrictEqual([...new Set(names.map(name => name.match(/\(\d+\)/)[0]))].sort(), [...new Set(split)].sort());
		assert.strictEqual(rows0.length, names.length);
		assert(rows0.every(n => n > 0), "every thread ran: " + rows0);
		assert(Math.abs(lanes.left - map.left) < 1 && Math.abs(lanes.width - map.width) < 1, "both have one scale of time");
		const at = part => ({x: lanes.left + lanes.width * part, y: lanes.top + 18});
		await page.mouse("mousePressed", at(.2));
		await page.mouse("mouseMoved", at(.6));
		await page.mouse("mouseReleased", at(.6));
		assert.match(await page.eval("location.hash"), /w=\d+-\d+/);
		const brush = await page.eval(`(() => { const {top, bottom} = document.querySelector(".brush").getBoundingClientRect(); return [top, bottom]; })()`);
		assert(brush[0] <= map.top + 1 && brush[1] >= lanes.top + lanes.height - 1, "the choice spans heat map and threads");
		// A press on a name chooses no time.
		await page.eval(`document.querySelector(".heat").focus()`);
		await page.key("Escape");
		await page.mouse("mousePressed", {x: 40, y: lanes.top + 5});
		await page.mouse("mouseReleased", {x: 40, y: lanes.top + 5});
		assert(!/w=/.test(await page.eval("location.hash")));
	EOT
}

# bats test_tags=full
@test "what a wait was for has the texture of its reason, bottom-up too" {
	cat >waits.folded <<-'END'
	main;a;poll wait_[w];lock.pid_[w] 20
	main;b;socket wait_[w];127.0.0.1:80_[w] 30
	main;c;poll wait_[w];127.0.0.1:80_[w] 20
	END
	"$SPROF" flame waits.folded -o waits.html
	page waits.html <<-'EOT'
		const classes = async () => (await page.eval(`[...document.querySelectorAll(".frames g.w0, .frames g.w1, .frames g.w2, .frames g.w3, .frames g.w4")].map(g => g.getAttribute("class") + " " + g.querySelector("text").textContent.replace(/ \\d+%.*/, ""))`)).sort();
		assert.deepStrictEqual(await classes(), ["w1 127.0.0.1:80", "w1 socket wait", "w3 127.0.0.1:80", "w3 lock.pid", "w3 poll wait", "w3 poll wait"]);
		assert.strictEqual(await page.eval(`document.querySelector(".legend").textContent.includes("lock")`), false);
		// In the table a name has one colour.
		assert.strictEqual(await page.eval(`[...document.querySelectorAll("tbody tr")].find(r => r.cells[0].title.startsWith("lock.pid")).querySelector(".bar g").getAttribute("class")`), "w3");
		await page.key("i");
		await until(`document.querySelector(".frames").textContent.includes("socket wait")`);
		const reversed = await classes();
		assert(reversed.includes("w1 socket wait") && reversed.includes("w3 poll wait") && reversed.includes("w3 lock.pid"), reversed.join());
		assert(!reversed.some(name => /^w[024]/.test(name) || name === "w3 socket wait" || name === "w1 poll wait"), reversed.join());
	EOT
}

# bats test_tags=full
@test "zoom, Esc and back end where they began; bottom-up opens sorted with its base in sight; s takes the selection" {
	awk 'BEGIN {
		for (i = 0; i < 60; i++) {
			s = s ";f" i
			print "app" s ";leaf" i " " i + 1
		}
		for (i = 0; i < 9; i++) print "app;other;cheap" i " 1"
		print "app;zother;zmost 5000"
	}' >tower.folded
	"$SPROF" flame tower.folded -o tower.html
	"$SPROF" flame tower.folded -o tower.svg
	for i in tower.html tower.svg; do
		page --height=500 $i <<-'EOT'
			const scrolled = () => page.eval(`(document.querySelector(".picture") || document.documentElement).scrollTop`);
			const pressBox = async label => {
				const at = await page.eval(`(() => {
					const g = [...document.querySelectorAll(".frames g")].find(g => g.textContent.startsWith("${label} "));
					const {x, y, width, height} = g.querySelector("rect").getBoundingClientRect();
					return {x: x + width / 2, y: y + height / 2};
				})()`);
				assert(at.y > 0 && at.y < 500, label);
				await page.mouse("mousePressed", at);
				await page.mouse("mouseReleased", at);
			};
			const inSight = async start => {
				const top = await page.eval(`[...document.querySelectorAll(".frames g")].find(g => g.textContent.startsWith("${start}")).getBoundingClientRect().top`);
				assert(top > 70 && top < 490, start + " lies at " + top);
			};
			await inSight("all 100%");
			await page.key("f");
			await inSight("all 100%");
			await page.eval(`(document.querySelector(".picture") || document.documentElement).scrollTop = 300`);
			const start = await scrolled();
			assert.strictEqual(start, 300);
			for (const back of ["Escape", "u", "0"]) {
				await pressBox("f30");
				await inSight("f30 ");
				assert.match(await page.eval("location.hash"), /z=/);
				await page.key(back);
				await until("!/z=/.test(location.hash)");
				await page.eval("new Promise(resolve => setTimeout(resolve, 60))");
				assert.strictEqual(await scrolled(), start, back);
			}
			// s: of the frame zoomed into, without a pointer over it.
			await pressBox("f30");
			await page.key("s");
			assert.match((await page.status())[0], /^callers and callees of f30$/);
			await page.key("s");
			await page.key("Escape");
			await page.eval(`(document.querySelector(".picture") || document.documentElement).scrollTop = 0`);
			await page.key("i");
			await inSight("all 100%");
			const selves = await page.eval(`(() => {
				const all = [...document.querySelectorAll(".frames g")], base = all[0].querySelector("rect").getBoundingClientRect().top;
				return all.map(g => [g.querySelector("rect, polygon").getBoundingClientRect(), g]).filter(([r, g]) => Math.abs(r.bottom + 1 - base) < 1)
					.sort(([r], [q]) => r.x - q.x).map(([r, g]) => r.width);
			})()`);
			assert(selves.length > 10 && selves.slice(0, -1).every((w, i) => !i || w <= selves[i - 1] + .01), selves.join());
			assert((await page.labels()).some(label => label.startsWith("zmost")));
		EOT
	done
}

# bats test_tags=full
@test "typing into the search field never scrolls the picture; Enter goes to the most expensive match and does not zoom" {
	awk 'BEGIN {
		for (i = 0; i < 60; i++) { s = s ";f" i; print "app" s " 1000" }
		print "app" s ";small_target 90"
		print "app" s ";big_target 800"
		for (i = 0; i < 3000; i++) print "app;hub;leaf" i " 1"
	}' >tower.folded
	"$SPROF" flame tower.folded -o tower.html
	"$SPROF" flame tower.folded -o tower.svg
	for i in tower.html tower.svg; do
		page --height=450 $i <<-'EOT'
			const scrolled = () => page.eval(`[document.documentElement.scrollTop, (document.querySelector(".picture") || {scrollTop: 0}).scrollTop]`);
			const whole = () => page.eval("location.hash").then(hash => !/z=/.test(hash));
			await page.key("f");
			await page.eval(`window.scrollTo(0, 400); (document.querySelector(".picture") || {}).scrollTop = 592`);
			await until(`document.documentElement.scrollTop + (document.querySelector(".picture") || {scrollTop: 0}).scrollTop >= 400`);
			const before = await scrolled();
			await page.key("/");
			for (const letter of "_target") {
				await page.key(letter);
				assert.deepStrictEqual(await scrolled(), before, "after " + letter);
			}
			assert.match(await page.found(), / 2 functions$/);
			const [share, field] = await page.eval(`[".controls span", ".controls input"].map(s => {
				const {left, right} = document.querySelector(s).getBoundingClientRect();
				return {left, right};
			})`);
			assert(field.left - share.right >= 0 && field.left - share.right < 20, "the share stands beside the field");
			await page.key("Enter");
			assert.strictEqual((await page.status())[0], "big_target");
			assert(await whole());
			const {top, bottom} = await page.eval(`(() => {
				const {top, bottom} = document.querySelector(".focus").getBoundingClientRect();
				return {top, bottom};
			})()`);
			assert(top > 0 && bottom < 450, "the match is in sight");
			await page.key("Enter");
			assert.match((await page.status())[0], /^small_target/);
			assert(await whole());
			// A match that is merged with others: Enter goes to the box that holds it, n zooms until it is drawn.
			await page.key("Escape");
			await page.key("/");
			await page.type("^leaf7$");
			await page.key("Enter");
			assert.match((await page.status())[0], /^leaf7 is in this box/);
			assert(await whole());
			await page.eval("document.activeElement.blur()");
			await page.key("n");
			assert.strictEqual((await page.status())[0], "leaf7");
		EOT
	done
}

# bats test_tags=full
@test "a large tree is turned bottom-up as far as it is visible, and further on zoom" {
	awk 'BEGIN { for (i = 0; i < 500; i++) for (j = 0; j < 500; j++) print "app;c" j ";f" i " 1" }' >large.folded
	"$SPROF" flame large.folded -o large.html
	page large.html <<-'EOT'
		const inRow = n => page.eval(`(() => {
			const rows = [...document.querySelectorAll(".frames g > :is(rect, polygon):not(.c, .h)")].map(r => r.getBoundingClientRect());
			const base = Math.max(...rows.map(r => r.top));
			return rows.filter(r => Math.round((base - r.top) / 18) === ${n}).length;
		})()`);
		await page.key("i");
		await tiles();
		assert.strictEqual(await inRow(3), 0, "who called the callers is too narrow to be seen");
		// The words for screen readers come after so many boxes.
		assert(await page.eval("document.querySelectorAll('.frames > g').length") > 600);
		await until("!document.querySelector('.frames > g:not([aria-label]), .frames > g:not([aria-level])')");
		await page.eval(`document.querySelectorAll(".frames g")[100].dispatchEvent(new MouseEvent("click", {bubbles: true}))`);
		assert(await inRow(2) > 50, "callers: " + await inRow(2));
		assert.strictEqual(await inRow(3), await inRow(2), "each was called");
		await tiles();
		assert.match(await page.eval("location.hash"), /^#i=1&z=[0-9a-f]{16}$/);
	EOT
}

# bats test_tags=full
@test "in a narrow diff facts and legend are folded into lines, and the table keeps its names" {
	"$SPROF" diff kinds.folded after.folded -o diff.html >/dev/null
	for width in 700 1000 1900; do
		page --width=$width diff.html <<-'EOT'
			const [inside, lines] = await page.eval(`(() => {
				const svg = document.querySelector("svg.sprof").getBoundingClientRect();
				const inside = b => b.left >= svg.left && b.right <= svg.right && b.bottom <= svg.bottom;
				const boxes = [...document.querySelectorAll(".legend > g")].map(g => g.getBoundingClientRect());
				const facts = document.querySelector(".facts").getBoundingClientRect();
				return [boxes.every(b => inside(b) && b.top > facts.bottom) && inside(facts),
					new Set(boxes.map(b => Math.round(b.bottom / 9))).size];
			})()`);
			assert(inside);
			assert(lines > 1 === (await width() < 990), String(lines));
			const name = await page.eval(`document.querySelector("td").getBoundingClientRect().width`);
			assert(name > 90, "the names are " + name + " wide");
		EOT
	done
}
