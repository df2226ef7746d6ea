# Sampled memory in the page of sprof flame -o x.html: the chart of what is in use, its brush, and the
# columns that the picture is switched between in place.
load ../recorder
load ../../browser/browser

setup() {
	needs_bpf
	needs_browser
	pids=()
}

# Records hoard with 60 MiB, then kills it.
record_hoard() {
	mkfifo "$BATS_TEST_TMPDIR/input"
	"$TARGETS/hoard" "$BATS_TEST_TMPDIR/held" 60 <"$BATS_TEST_TMPDIR/input" >"$truth" 3>&- &
	pids+=($!)
	exec {go}>"$BATS_TEST_TMPDIR/input"
	wait_until grep -q ready "$truth"
	record --alloc=64k -p "${pids[0]}"
	sleep 0.3
	echo >&$go
	wait_until grep -q full "$truth"
	kill -9 "${pids[0]}"
	wait $recorder
	exec {go}>&-
}

# bats test_tags=full
@test "memory in use is drawn over time, and its brush is that of the heat map" {
	record_hoard
	"$SPROF" flame --column live -o "$BATS_TEST_TMPDIR/heap.html" "$data"
	page "$BATS_TEST_TMPDIR/heap.html" <<-'EOT'
		assert.match(await page.eval('document.querySelector(".memory figcaption").textContent'), /Memory in use, allocated since the start process \d+, peak \d/);
		const count = () => page.eval('document.querySelectorAll(".memory").length');
		assert.strictEqual(await count(), 1);
		// The line rises to the end: at the last point more than 55 MB are in use.
		await page.eval('document.querySelector(".memory svg").focus()');
		await page.key("End");
		const text = await page.eval('document.querySelector(".memory p").textContent');
		const used = Number(text.match(/: process \d+: ([0-9.]+) MB$/)[1]);
		assert(used > 50 && used < 80, text);
		await page.key("Escape");
		const chosen = () => page.eval('document.querySelector(".heat").getAttribute("aria-valuetext")');
		assert.strictEqual(await chosen(), "all");
		const box = await page.eval('(() => { const r = document.querySelector(".memory svg").getBoundingClientRect(); return {x: r.x, y: r.y, width: r.width, height: r.height}; })()');
		const mouse = (type, part) => page.send("Input.dispatchMouseEvent", {type, x: box.x + box.width * part, y: box.y + box.height / 2, button: "left", buttons: 1, clickCount: 1});
		await mouse("mousePressed", 0.5);
		await mouse("mouseMoved", 0.6);
		await mouse("mouseMoved", 0.8);
		await mouse("mouseReleased", 0.8);
		assert.match(await chosen(), / to /);
		const shown = await page.eval('document.querySelector(".memory .brushed").getAttribute("visibility")');
		assert.strictEqual(shown, "visible");
		const part = await page.eval('Number(document.querySelector(".memory .brushed").getAttribute("width"))');
		assert(part > 200 && part < 400, part);
		assert.strictEqual(await page.eval('document.querySelector(".heat .brush").hidden'), false);
		if (process.env.PICTURES)
			await page.screenshot(process.env.PICTURES + "/heap-brushed.png");
		// A click takes it away again.
		await mouse("mousePressed", 0.3);
		await mouse("mouseReleased", 0.3);
		assert.strictEqual(await chosen(), "all");
		assert.strictEqual(await page.eval('document.querySelector(".memory .brushed").getAttribute("visibility")'), "hidden");
	EOT
}

# bats test_tags=full
@test "the picture is switched from allocated to live memory in place" {
	record_hoard
	"$SPROF" flame --column allocated -o "$BATS_TEST_TMPDIR/heap.html" "$data"
	page "$BATS_TEST_TMPDIR/heap.html" <<-'EOT'
		const names = await page.eval('[...document.querySelectorAll(".tools select option")].map(o => o.textContent)');
		for (const name of ["memory allocated", "memory in use", "allocations", "objects in use", "CPU time"])
			assert(names.some(n => n.includes(name)), names.join());
		assert(!names.some(n => n.includes("lifetime")), names.join());
		const has = name => page.eval(`[...document.querySelectorAll(".table tr")].some(r => r.textContent.includes("${name}"))`);
		assert(await has("let_go"));
		await page.eval('(() => { const s = [...document.querySelectorAll(".tools select")].find(s => [...s.options].some(o => o.textContent.includes("memory in use"))); s.value = [...s.options].find(o => o.textContent.includes("memory in use")).value; s.dispatchEvent(new Event("change", {bubbles: true})); })()');
		await page.eval('new Promise(r => setTimeout(r, 300))');
		assert(await has("hold_large"));
		if (process.env.PICTURES)
			await page.screenshot(process.env.PICTURES + "/heap-live.png");
	EOT
}
