# Device memory over time in the page of sprof flame -o x.html, of a recording made over the fake GPU.

load ../gpu/fake.bash
load browser

setup() {
	needs_browser
	fake_setup
	cd "$BATS_TEST_TMPDIR"
}

page() { # options, file; the test is standard input
	{ cat "$BROWSER/page_helpers.js"; cat; } | env -u LD_LIBRARY_PATH timeout 90 node "$BROWSER/page.js" "$@"
}

record_page() {
	timeout 60 "$SPROF" record -q -s timer -o g.data "$@"
	"$SPROF" flame g.data -o g.html
}

# bats test_tags=full
@test "device memory is a line with its peak and shows the memory in use at the pointer" {
	record_page -- "$WORK" launch:100 alloc:4 idle:200 alloc:8 idle:100 launch:100
	"$SPROF" export -f chrome -o t.json g.data
	page g.html <<-EOT
		const points = $(jq -c '[.traceEvents[] | select(.ph == "C" and .name == "device memory") | [.ts, .args.bytes]]' t.json);
		assert.strictEqual(points.length, 18);
		const highest = points.reduce((a, b) => b[1] > a[1] ? b : a);
		assert.strictEqual(highest[1], 10 << 20);
		const labels = await page.eval('[...document.querySelectorAll(".memory text:not(.axis)")].map(t => t.textContent)');
		assert.strictEqual(labels.length, 1);
		assert.match(labels[0], /^peak 10\.5 MB at [0-9.]+ ms\$/);
		assert(Math.abs(parseFloat(labels[0].slice(16)) - highest[0] / 1000) < 1, labels[0] + " " + highest);
		assert.match(await page.eval('document.querySelector(".memory figcaption").textContent'), /GPU 0: Fake H200, peak 10\.5 MB/);
		// Key by key: every point, in order.
		const value = name => page.eval('document.querySelector(".memory svg").getAttribute("aria-value' + name + '")');
		assert.strictEqual(await value("text"), "no time chosen");
		await page.eval('document.querySelector(".memory svg").focus()');
		for (const [us, used] of points) {
			await page.key("ArrowRight");
			assert(Math.abs(Number(await value("now")) - us * 1000) <= 1, us);
			const text = await value("text"), unit = used < 1e6 ? /0 B/ : new RegExp((used / 1e6).toPrecision(3) + " MB\$");
			assert.match(text, unit);
			assert.strictEqual(await page.eval('document.querySelector(".memory p").textContent'), text);
		}
		await page.key("Home");
		assert.match(await value("text"), /GPU 0: Fake H200: 1\.05 MB\$/);
		await page.key("Escape");
		assert.strictEqual(await value("text"), "no time chosen");
		// With the pointer half way between the two waves 2 MiB are in use.
		const box = await page.eval('(() => { const r = document.querySelector(".memory svg").getBoundingClientRect(); return {x: r.x, y: r.y, width: r.width, height: r.height}; })()');
		const all = Number(await value("max")), us = (points[5][0] + points[6][0]) / 2;
		await page.send("Input.dispatchMouseEvent", {type: "mouseMoved", x: box.x + box.width * us * 1000 / all, y: box.y + box.height / 2});
		assert.match(await value("text"), /: 2\.10 MB\$/);
		if (process.env.PICTURES)
			await page.screenshot(process.env.PICTURES + "/memory-light.png");
		for (const scheme of ["light", "dark"]) {
			await page.send("Emulation.setEmulatedMedia", {features: [{name: "prefers-color-scheme", value: scheme}]});
			const colours = await page.eval('["path[data-points]", "circle"].map(s => getComputedStyle(document.querySelector(".memory " + s))).map((s, i) => i ? s.fill : s.stroke)');
			assert.deepStrictEqual(colours, scheme === "dark" ? ["rgb(143, 184, 240)", "rgb(143, 184, 240)"] : ["rgb(28, 78, 154)", "rgb(28, 78, 154)"]);
			if (process.env.PICTURES)
				await page.screenshot(process.env.PICTURES + "/memory-" + scheme + ".png");
		}
	EOT
	"$SPROF" flame --no-js g.data -o still.html
	grep -q '<figure class="memory">' still.html
}

# bats test_tags=full
@test "a recording without memory data has no chart" {
	record_page -- "$WORK" launch:100
	! grep -q 'class="memory"' g.html || false
}
