# The flame graph in a real browser: with its script, without it, and with hostile names.
load browser

setup() {
	needs_browser
	cp "$BATS_TEST_DIRNAME"/../golden/output/*.folded "$BATS_TEST_DIRNAME"/../golden/recordings/{complete,gpu}.data "$BATS_TEST_TMPDIR"
	cd "$BATS_TEST_TMPDIR"
	# Tall: a trunk of 20 frames, of which 40 that only call one another lead to f and to g.
	awk 'BEGIN {
		for (i = 0; i < 20; i++) trunk = trunk ";start" i
		for (i = 0; i < 40; i++) tower = tower ";deep" i
		print "app" trunk ";run" tower ";f 600"
		print "app" trunk ";run" tower ";g 200"
		print "app" trunk ";run;side 180"
		print "app" trunk ";aside 2"
		print "app" trunk " 3"
		print "app;other 15"
	}' >tall.folded
	for f in kinds hostile tall; do
		"$SPROF" flame -t "$f" $f.folded -o $f.svg
	done
}

page() { # options, file; the test is standard input
	timeout 90 node "$BROWSER/page.js" "$@"
}

# Two towers: one stays and has a change in its middle, the other is gone.
tall_diff() {
	local start= deep= gone=
	for i in $(seq 0 19); do start+=";start$i"; done
	for i in $(seq 0 39); do deep+=";deep$i" gone+=";gone$i"; done
	printf '%s\n' "app$start;run$deep 90000" "app$gone 10000" >tall-before.folded
	printf '%s\n' "app$start;run$deep 88000" "app${start%;start10*};more 2000" "app;new 10000" >tall-after.folded
	"$SPROF" diff tall-before.folded tall-after.folded -o tall-diff.svg >/dev/null
}

# bats test_tags=full
@test "the script draws the same picture as the file" {
	"$SPROF" flame -t complete complete.data -o complete.svg
	"$SPROF" diff before.folded after.folded -o diff.svg >/dev/null
	"$SPROF" diff --absolute after.folded before.folded -o absolute.svg >/dev/null
	"$SPROF" diff hostile.folded kinds.folded -o removed.svg >/dev/null
	tall_diff
	"$SPROF" flame --butterfly cpu,gpu -t butterfly gpu.data -o butterfly.svg
	# A tower whose last frames are waits, which are never folded.
	awk 'BEGIN {
		for (i = 0; i < 30; i++) stack = stack ";deep" i
		for (i = 0; i < 8; i++) stack = stack ";wait" i "_[w]"
		print "app" stack " 90"
		print "app;other 10"
	}' >waits.folded
	"$SPROF" flame -t waits waits.folded -o waits.svg
	for f in kinds hostile tall complete diff absolute removed tall-diff butterfly waits; do
		page --no-script $f.svg >static <<-'EOT'
			const {root} = await page.send("DOM.getDocument", {depth: -1});
			const {outerHTML} = await page.send("DOM.getOuterHTML", {nodeId: root.nodeId});
			console.log(outerHTML.split('<g class="frames">')[1].split(/\n<\/g>\n<text class="facts"/)[0]
				.replace(/<title>[^]*?<\/title>/g, "").replace(/\n/g, "").replace(/<g /g, "\n<g ")
				.replace(/ xmlns="[^"]*"/g, ""));
		EOT
		page $f.svg >live <<-'EOT'
			// Slim boxes are polygons here.
			const corners = /<polygon points="([\d.]+),(\d+) ([\d.]+),\d+ [\d.]+,(\d+) [^"]*"/g;
			console.log((await page.eval(`document.querySelector(".frames").innerHTML`))
				.replace(/ (role|tabindex|aria-[a-z]+)="[^"]*"/g, "")
				.replace(corners, (_, left, top, right, bottom) => `<rect x="${left}" y="${top}" ` +
					`width="${Math.round((right - left) * 100) / 100}" height="${bottom - top}"`)
				.replace(/\n/g, "").replace(/<g /g, "\n<g ").replace(/ xmlns="[^"]*"/g, ""));
		EOT
		[ "$(wc -l <static)" -gt 5 ]
		# Brings the attributes of a rect in one order.
		for i in static live; do
			sed -Ei 's/<rect (class="[^"]*" )?x="([^"]*)" y="([^"]*)" width="([^"]*)" height="([^"]*)"( class="[^"]*")?/<rect \1\6 \2 \3 \4 \5/g; s/ +/ /g; s/ "/"/g' $i
		done
		diff static live
	done
}

@test "a click zooms; a click on an ancestor zooms out" {
	page kinds.svg <<-'EOT'
		await page.click("parse 30%");
		let labels = await page.labels();
		assert(labels.includes("parse 30% · self 3.5%"));
		assert(labels.includes("main 94%"), "an ancestor is shown");
		assert(!labels.some(label => label.startsWith("read")), "what is elsewhere is not");
		assert.strictEqual(await page.eval(`document.querySelectorAll(".frames .faded").length`), 3);
		const box = await page.place("parse 30%");
		assert.strictEqual(Math.round(box.width), 1180);
		await page.click("main 94%");
		labels = await page.labels();
		assert(labels.some(label => label.startsWith("read 16%")));
		await page.key("0");
		assert.strictEqual(await page.eval(`document.querySelectorAll(".frames .faded").length`), 0);
		await page.click("read");
		await page.eval(`document.querySelector(".controls button").click()`);
		assert.strictEqual(await page.eval(`document.querySelectorAll(".frames .faded").length`), 0);
	EOT
}

# bats test_tags=full
@test "zooming out shows the boxes that were there before, as they were" {
	page tall.svg <<-'EOT'
		const described = () => page.eval(`new Promise(resolve => requestAnimationFrame(() => setTimeout(() => setTimeout(resolve))))`);
		// The order of attributes does not matter.
		const frames = async () => (await described(), page.eval("document.querySelector('.frames').innerHTML.replace(/ tabindex=.0./, '')"));
		const again = async () => { // draws everything anew
			await page.key("v");
			await page.key("v");
		};
		await again();
		const first = await frames(), labels = await page.labels();
		await page.eval("window.root = document.querySelector('.frames').firstElementChild");
		const isKept = () => page.eval("root === document.querySelector('.frames').firstElementChild");
		const zoomed = async () => {
			await page.eval("[...document.querySelectorAll('.frames g:not(.m)')][2].dispatchEvent(new MouseEvent('click', {bubbles: true}))");
			assert(!await isKept());
		};
		await zoomed();
		await page.key("0");
		assert(await isKept());
		assert.strictEqual(await frames(), first);
		// Neither the focus nor what was found is left on them.
		await page.key("/");
		await page.type("^[a-z]");
		await page.key("Enter");
		assert(await page.eval("document.querySelectorAll('.hit').length > 0 && document.querySelector('.focus') !== null"));
		await zoomed();
		await page.eval(`{
			const input = document.querySelector("input");
			input.value = "";
			input.dispatchEvent(new Event("input"));
			input.blur();
		}`);
		await page.key("0");
		assert(await isKept());
		const unnamed = text => text.replace(/ aria-[a-z]+="[^"]*"/g, "");
		assert.strictEqual(unnamed(await frames()), unnamed(first));
		assert.strictEqual(await page.eval("document.querySelectorAll('.frames > [tabindex=\"0\"]').length"), 1);
		// They answer: the second one leads elsewhere. What is wider, or upside down, or unfolded, is drawn anew.
		await zoomed();
		assert.notDeepStrictEqual(await page.labels(), labels);
		await page.key("v");
		await page.key("0");
		assert(!await isKept());
		await page.key("v");
		assert.deepStrictEqual(await page.labels(), labels);
		await page.eval("window.root = document.querySelector('.frames').firstElementChild");
		await zoomed();
		await page.send("Emulation.setDeviceMetricsOverride", {width: 900, height: 900, deviceScaleFactor: 1, mobile: false});
		await described();
		await page.key("0");
		assert(!await isKept());
		const narrow = await frames();
		await again();
		assert.strictEqual(await frames(), narrow);
	EOT
}

# bats test_tags=full
@test "axe finds nothing serious in picture and page, and the tree is used by keyboard alone" {
	local npm=$BUILD/npm
	[ -e "$npm/node_modules/axe-core" ] || timeout 90 npm install --prefix "$npm" --no-audit --no-fund --ignore-scripts axe-core@4.10.3 \
		>/dev/null 2>&1 || true
	axe=${AXE:-$npm/node_modules/axe-core}/axe.min.js
	[ -e "$axe" ] || skip "npm cannot fetch axe-core: set AXE to its folder"
	"$SPROF" flame complete.data -o complete.html
	"$SPROF" diff before.folded after.folded -o diff.html >/dev/null
	for f in tall.svg complete.html diff.html --dark\ complete.html; do
		page --width=1280 $f <<-EOT
			await page.send("Emulation.setFocusEmulationEnabled", {enabled: true});
			await page.send("Runtime.evaluate", {expression: process.getBuiltinModule("fs").readFileSync("$axe", "utf8")});
			const check = async when => {
				const found = await page.eval(\`axe.run(document).then(({violations}) => violations.filter(v => /serious|critical/.test(v.impact))
					.map(v => [v.id, v.nodes.length, v.nodes[0].html.slice(0, 200)]))\`);
				assert.deepStrictEqual(found, [], when);
			};
			await check("at the start");
			// Every box has one line; Tab enters the tree at its base.
			assert(await page.eval(\`[...document.querySelectorAll(".frames > g")].every(g => g.getAttribute("role") === "treeitem" &&
				g.getAttribute("aria-label").length > 1 && g.getAttribute("aria-level") > 0)\`));
			assert.strictEqual(await page.eval(\`document.querySelectorAll(".frames > [tabindex='0']").length\`), 1);
			await page.eval(\`document.querySelector(".frames > [tabindex='0']").focus()\`);
			assert.match((await page.status())[0], /^all\$/);
			await page.key("ArrowUp");
			await page.key("Enter");
			await check("zoomed by keyboard");
			assert.strictEqual(await page.eval(\`document.querySelectorAll(".frames > [tabindex='0']").length\`), 1);
			await page.key("Escape");
			await page.key("/");
			await page.type("a");
			await check("searching");
			await page.key("Escape");
			await page.key("?");
			await check("help");
		EOT
	done
}

# bats test_tags=full
@test "a tall picture is folded, a click unfolds, and Esc and back lead to the start" {
	page tall.svg <<-'EOT'
		const hash = () => page.eval("location.hash"), all = await page.labels();
		const sizes = () => page.eval(`[document.documentElement.scrollTop, Number(document.querySelector("svg").getAttribute("height"))]`);
		const start = await sizes();
		assert(start[1] < 400, `the picture is ${start[1]} px high`);
		assert(all.includes("+20 frames, start0 \u2026 start19 99%"), all.join());
		assert(all.includes("+39 frames, deep0 \u2026 deep38 80%"), all.join());
		assert(all.includes("run 98%") && all.includes("deep39 80%"), all.join());
		// The caps of folds are the time that does not reach the frame above: all caps together are the whole.
		const caps = () => page.eval(`[...document.querySelectorAll(".frames .c")].reduce((n, c) => n + c.getBoundingClientRect().width, 0)`);
		assert(Math.abs(await caps() - 1180) < 1, String(await caps()));
		await page.hover("+20 frames");
		const lines = await page.status();
		const names = lines.slice(0, 2).join(""), sums = lines[2];
		assert.match(names, /^20 frames folded: start0 › start1 › .* › start19$/);
		assert.match(sums, /^total 99% · click to unfold$/);
		// A frame in a fold is found, and the fold is highlighted.
		await page.key("/");
		await page.type("^start7$");
		assert.match(await page.found(), /^99% .* 1 function$/);
		assert.strictEqual(await page.eval(`document.querySelector(".f.hit text").textContent.slice(0, 10)`), "+20 frames");
		await page.key("Escape");
		const base = await page.eval(`document.querySelector(".frames g").getBoundingClientRect().top`);
		await page.click("+20 frames");
		assert.match(await hash(), /^#e=[0-9a-f]{16}$/);
		let labels = await page.labels();
		for (let i = 0; i < 20; i++)
			assert(labels.some(label => label.startsWith(`start${i} 99%`)), `start${i}`);
		assert(labels.some(label => label.startsWith("+39 frames")), "the other fold stays");
		assert.strictEqual((await page.labels()).filter(label => label.startsWith("aside")).length, 0, "2 of 1000 are too narrow for a label");
		assert(Math.abs(await caps() - 1180) < 1);
		await page.key("u");
		await page.eval("new Promise(resolve => setTimeout(resolve, 50))");
		assert.deepStrictEqual([await page.labels(), await hash()], [all, ""]);
		await page.key("U");
		await page.eval("new Promise(resolve => setTimeout(resolve, 50))");
		assert.deepStrictEqual(await page.labels(), labels);
		await page.key("Escape");
		assert.deepStrictEqual([await page.labels(), await sizes()], [all, start]);
		// f shows every row. Enter unfolds what has the focus.
		await page.key("f");
		assert(!(await page.labels()).some(label => label.startsWith("+")));
		await page.key("f");
		assert.deepStrictEqual(await page.labels(), all);
		for (let i = 0; i < 3; i++)
			await page.key("ArrowUp");
		assert.match((await page.status())[0], /^20 frames folded/);
		await page.key("Enter");
		assert.strictEqual((await page.status())[0], "start0");
		assert.deepStrictEqual(await page.labels(), labels);
		// Of the frames below the one zoomed into most are folded.
		await page.key("Escape");
		await page.click("f 60%");
		labels = await page.labels();
		assert(labels.includes("f 60% \u00b7 self 60%"));
		assert(labels.some(label => /^\+\d\d frames, start0/.test(label)), labels.join());
		assert.strictEqual(await page.eval(`document.querySelectorAll(".frames .faded").length`), 7);
		await page.key("Escape");
		assert.deepStrictEqual([await page.labels(), await sizes()], [all, start]);
	EOT
}

# bats test_tags=full
@test "a tall diff is folded where neither total nor self changes, and a click unfolds" {
	tall_diff
	page tall-diff.svg <<-'EOT'
		const height = () => page.eval(`Number(document.querySelector("svg").getAttribute("height"))`);
		const classes = () => page.eval(`[...document.querySelectorAll(".frames .fd")].map(g => g.getAttribute("class") + ": " + (g.querySelector("text") || {}).textContent)`);
		const all = await page.labels(), start = await height();
		assert(start < 400, `the picture is ${start} px high`);
		// The first half of the tower changed otherwise than the second.
		assert.deepStrictEqual((await classes()).map(text => text.replace(/ frames.*? (\d\d%|100%|-10%)/, " $1")), [
			"d4 fd: +10 90%", "d1 fd: +49 88% -2.0%", "d0 fd: +39 frames"]);
		await page.hover("+49 frames");
		const lines = await page.status();
		assert.match(lines.join(" "), /^49 frames folded: run › deep0 › .* total 90% → 88% \(-2\.0% ± 0\.27%\) · click to unfold$/);
		await page.click("+49 frames");
		assert.match(await page.eval("location.hash"), /^#e=[0-9a-f]{16}$/);
		const labels = await page.labels();
		for (let i = 11; i < 20; i++)
			assert(labels.some(label => label.startsWith(`start${i} 88%`)), `start${i}: ${labels}`);
		assert.strictEqual((await classes()).length, 2, "the other folds stay");
		await page.key("Escape");
		assert.deepStrictEqual([await page.labels(), await height()], [all, start]);
		// Every row, and back.
		await page.key("f");
		assert.strictEqual((await classes()).length, 0);
		assert(await height() > 900);
		await page.key("f");
		assert.deepStrictEqual(await page.labels(), all);
		// Of a zoom the frames below are folded without a colour, because their changes differ.
		await page.click("deep39 88%");
		assert.strictEqual(await page.eval(`document.querySelectorAll(".frames .f.faded").length`), 1);
		await page.key("Escape");
		assert.deepStrictEqual([await page.labels(), await height()], [all, start]);
	EOT
}

# bats test_tags=full
@test "frames too narrow to draw all appear on zoom" {
	for i in $(seq 1 3000); do echo "app;hub;leaf$i 1"; done >many.folded
	echo "app;big 3000000" >>many.folded
	"$SPROF" flame many.folded -o many.svg
	page many.svg <<-'EOT'
		const runs = () => page.eval(`[...document.querySelectorAll(".frames .m")].map(g => {
			const r = g.querySelector("rect, polygon").getBoundingClientRect();
			return {x: r.x + r.width / 2, y: r.y + r.height / 2, width: r.width};
		})`);
		const leaves = () => page.eval(`document.querySelectorAll(".frames g:not(.m):not(.faded)").length`);
		let steps = 0;
		assert((await runs()).length > 0, "the leaves are in a run");
		await page.key("/");
		await page.type("^leaf2999$");
		assert.match(await page.found(), /1 function$/);
		assert.strictEqual(await page.eval(`document.querySelectorAll(".m.hit").length`), 1, "a run that holds a match");
		await page.key("Escape");
		while ((await runs()).length && steps < 12) {
			const run = (await runs()).pop();
			await page.mouse("mouseMoved", run);
			assert.match((await page.status())[0], /frames? in \d+ rows? merged into one box$/);
			await page.mouse("mousePressed", run);
			await page.mouse("mouseReleased", run);
			steps++;
		}
		assert(steps >= 2 && steps < 12, "zooming came to an end, in steps: " + steps);
		assert(await leaves() > 100);
		await page.mouse("mouseMoved", await page.eval(`(() => {
			const r = [...document.querySelectorAll(".frames g")].pop().querySelector("rect, polygon").getBoundingClientRect();
			return {x: r.x + r.width / 2, y: r.y + r.height / 2};
		})()`));
		assert.match((await page.status())[0], /^leaf\d+$/);
	EOT
}

# bats test_tags=full
@test "search sums its matches over the whole tree and counts none twice" {
	page kinds.svg <<-'EOT'
		const search = async text => {
			await page.key("Escape");
			await page.key("/");
			await page.type(text);
			return page.found();
		};
		// 343 of 1141: parse calls itself, and inner calls are not counted again. Self: 40 of 1141.
		assert.strictEqual(await search("^parse$"), "30% · self 3.5% · 1 function");
		assert.strictEqual(await search("^(parse|next_token)$"), "30% · self 30% · 2 functions");
		assert.strictEqual(await search("samples"), "no match", "names are searched, not tooltips");
		assert.strictEqual(await search("9"), "no match");
		assert.strictEqual(await search("ENTRY"), "no match", "capitals count");
		assert.strictEqual(await search("entry_syscall"), "16% · self 0% · 1 function", "else they do not");
		assert.strictEqual(await search("par[se"), "not a regular expression");
		assert.strictEqual(await page.eval(`document.querySelector("input").getAttribute("aria-invalid")`), "true");
		// A frame in a run counts, and the run is highlighted. Zooming changes no sum.
		await page.key("Escape");
		await page.click("read");
		assert.strictEqual(await search("^(a|b|c|d)$"), "0.26% · self 0.26% · 3 functions".replace("3", "4"));
		await page.key("Escape");
		assert.strictEqual(await page.found(), "");
		assert.strictEqual(await page.eval(`document.querySelectorAll(".hit").length`), 0);
	EOT
}

# bats test_tags=full
@test "n and N go from match to match, also to frames that are not drawn" {
	page kinds.svg <<-'EOT'
		await page.key("f", 2);
		await page.type("^next_token$");
		await page.key("Enter");
		assert.strictEqual((await page.status())[0], "next_token");
		assert.strictEqual(await page.eval(`document.querySelectorAll(".hit").length`), 2);
		await page.eval("document.activeElement.blur()");
		const first = await page.eval(`document.querySelector(".focus").getBoundingClientRect().x`);
		await page.key("n");
		const second = await page.eval(`document.querySelector(".focus").getBoundingClientRect().x`);
		assert.notStrictEqual(second, first);
		await page.key("N");
		assert.strictEqual(await page.eval(`document.querySelector(".focus").getBoundingClientRect().x`), first);
		await page.key("Escape");
		await page.click("read");
		await page.key("/");
		await page.type("push_back");
		await page.key("Enter");
		assert.match((await page.status())[0], /push_back/);
	EOT
}

# bats test_tags=full
@test "pointing at a frame shows its self, total and margin, and the sums of its function" {
	page kinds.svg <<-'EOT'
		await page.hover("parse 18%");
		assert.deepStrictEqual(await page.status(), ["parse",
			"total 18% (70% of its caller) · self 0% · 210 ± 26 samples",
			"all 3 frames of it: total 30% · self 3.5%"]);
		await page.hover("push_back 37%");
		assert.deepStrictEqual(await page.status(), ["std::vector<int, std::allocator<int> >::push_back(int const&)",
			"total 37% (39% of its caller) · self 26% · 420 ± 32 samples", ""]);
		assert.strictEqual(await page.eval(`document.querySelectorAll(".frames title").length`), 0, "a tooltip would cover boxes");
		await page.mouse("mouseMoved", {x: 600, y: 5});
		assert.strictEqual((await page.status())[0], "1141 samples · 10% on a box means 8.3% to 12% · collapsed stacks");
	EOT
	"$SPROF" flame complete.data -o complete.svg
	page complete.svg <<-'EOT'
		await page.hover("run_job");
		const [name, numbers] = await page.status();
		assert.strictEqual(name, "run_job()");
		assert.match(numbers, /^total 30%, 120 ms \(100% of its caller\) · self 20%, 80.1 ms · 120 ± 18 samples$/);
	EOT
}

# bats test_tags=full
@test "a long name is folded into lines and keeps its middle, on a telephone too" {
	awk 'BEGIN {
		for (i = 0; i < 30; i++) name = name "part" i "_"
		print "app;" name " 90"
		print "app;std::map<std::basic_string<char, std::char_traits<char>, std::allocator<char> >, std::vector<int, std::allocator<int> > >::" name "(int) 10"
	}' >long.folded
	"$SPROF" flame long.folded -o long.svg
	for width in 390 800 1280; do
		page --width=$width long.svg <<-EOT
			const box = await page.eval(\`(() => {
				const r = document.querySelectorAll(".frames g")[2].querySelector("rect").getBoundingClientRect();
				return {x: r.x + r.width / 2, y: r.y + r.height / 2};
			})()\`);
			await page.mouse("mouseMoved", box);
			const said = (await page.status()).join("");
			assert(said.includes("part0_part1_part2_part3_part4_part5_part6_part7_"), said);
			assert($width < 500 || said.includes("part14_part15_part16_part17_part18_part19_part20_") && /part29_/.test(said), said);
			assert.match(said, /total [0-9.]+%/);
			// The lines lie in the head, and no box lies under it.
			const [head, box0, right] = await page.eval(\`[document.querySelector(".head .ground").getBoundingClientRect().bottom,
				Math.min(...[...document.querySelectorAll(".frames rect, .frames polygon")].map(r => r.getBoundingClientRect().top)),
				Math.max(...[...document.querySelectorAll(".status text")].map(t => t.getBoundingClientRect().right))]\`);
			assert(head <= box0 && right <= $width, JSON.stringify([head, box0, right]));
		EOT
	done
}

# bats test_tags=full
@test "arrows go from frame to frame, Enter zooms" {
	page kinds.svg <<-'EOT'
		const name = async () => (await page.status())[0];
		await page.key("ArrowUp");
		assert.strictEqual(await name(), "all");
		await page.key("ArrowUp");
		assert.strictEqual(await name(), "app");
		await page.key("ArrowRight");
		assert.strictEqual(await name(), "worker");
		await page.key("ArrowLeft");
		await page.key("ArrowUp");
		assert.strictEqual(await name(), "main", "the widest child");
		assert.match(await page.eval("document.activeElement.getAttribute('aria-label')"), /^main, total 94%/);
		await page.key("Enter");
		assert.strictEqual(await page.eval(`document.querySelectorAll(".frames .faded").length`), 2);
		assert.strictEqual(await name(), "main");
		await page.key("ArrowDown");
		assert.strictEqual(await name(), "app");
		await page.key("Escape");
		assert.strictEqual(await page.eval(`document.querySelectorAll(".frames .faded").length`), 0);
	EOT
}

# bats test_tags=full
@test "hostile names and titles run no code and are shown literally" {
	"$SPROF" flame -t '</title><script>alert(1)</script>"onload="alert(2)' hostile.folded -o hostile.svg
	page hostile.svg <<-'EOT'
		assert.strictEqual(await page.eval("document.querySelectorAll('script').length"), 1);
		assert.strictEqual(await page.eval("document.title"), '</title><script>alert(1)</script>"onload="alert(2)');
		await page.hover("…title=");
		assert.strictEqual((await page.status())[0], '</title><script>document.title="pwned"</script>');
		const count = await page.eval("document.querySelectorAll('.frames g').length");
		for (let i = 0; i < count; i++) {
			const at = await page.eval(`(() => {
				const r = document.querySelectorAll(".frames g")[${i}].querySelector("rect, polygon").getBoundingClientRect();
				return {x: r.x + r.width / 2, y: r.y + r.height / 2};
			})()`);
			await page.mouse("mouseMoved", at);
			await page.mouse("mousePressed", at);
			await page.mouse("mouseReleased", at);
			await page.key("0");
		}
		await page.key("/");
		await page.type("<script>");
		assert.match(await page.found(), /1 function/);
		assert.strictEqual(await page.eval("document.querySelectorAll('script, .frames [onload]').length"), 1);
	EOT
}

@test "the picture is complete without scripts and as an image" {
	page --no-script kinds.svg <<-'EOT'
		const {documents: [d], strings} = await page.send("DOMSnapshot.captureSnapshot", {computedStyles: []});
		const drawn = d.layout.nodeIndex.filter((n, i) =>
			strings[d.nodes.nodeName[n]] === "rect" && d.layout.bounds[i][2] > 0);
		assert(drawn.length > 40, `${drawn.length} boxes and caps`);
		assert(d.layout.text.some(t => t >= 0 && strings[t] === "push_back 37% · self 26%"));
	EOT
	{ printf '<!doctype html><img src="data:image/svg+xml;base64,'; base64 -w 0 kinds.svg; printf '">'; } >img.html
	page --static img.html <<-'EOT'
		const pixels = await page.eval(`(async () => {
			const image = document.querySelector("img");
			await image.decode();
			const canvas = document.createElement("canvas"), context = canvas.getContext("2d");
			canvas.width = image.naturalWidth;
			canvas.height = image.naturalHeight;
			context.drawImage(image, 0, 0);
			const {data, width, height} = context.getImageData(0, 0, canvas.width, canvas.height);
			const seen = {width, height, box: 0, cap: 0};
			for (let i = 0; i < data.length; i += 4) {
				const most = Math.max(data[i], data[i + 1], data[i + 2]), least = Math.min(data[i], data[i + 1], data[i + 2]);
				const lightness = (most + least) / 510;
				seen.box += Math.abs(lightness - .80) < .015;
				seen.cap += Math.abs(lightness - .38) < .015 && most - least > 60;
			}
			return seen;
		})()`);
		assert.strictEqual(pixels.width, 1200);
		assert(pixels.box > 50000 && pixels.cap > 3000, JSON.stringify(pixels));
	EOT
}

# bats test_tags=full
@test "the picture fits the window and follows its size" {
	page --width=800 kinds.svg <<-'EOT'
		const widest = () => page.eval(`Math.max(...[...document.querySelectorAll(".frames :is(rect, polygon)")].map(r =>
			r.getBoundingClientRect().right))`);
		assert.strictEqual(Math.round(await widest()), 790);
		assert.match((await page.status())[1], /^click: zoom · [^…]* · \? more$/);
		await page.send("Emulation.setDeviceMetricsOverride",
			{width: 1000, height: 900, deviceScaleFactor: 1, mobile: false});
		for (let i = 0; i < 50 && Math.round(await widest()) !== 990; i++)
			await new Promise(resolve => setTimeout(resolve, 20));
		assert.strictEqual(Math.round(await widest()), 990);
	EOT
}

# bats test_tags=full
@test "the picture is dark in dark mode" {
	for scheme in --dark ""; do
		page $scheme kinds.svg <<-'EOT'
			const color = selector => page.eval(`(() => {
				const [r, g, b] = getComputedStyle(document.querySelector("${selector}")).fill.match(/[0-9]+/g).map(Number);
				return (Math.max(r, g, b) + Math.min(r, g, b)) / 510;
			})()`);
			const ground = await color(".ground"), box = await color(".frames rect"), cap = await color(".frames .c");
			const text = await color(".frames text");
			assert(ground < .5 ? ground < box && box < cap && text > .8 : ground > box && box > cap && text < .2);
			console.log(ground < .5 ? "dark" : "light");
		EOT
	done >schemes
	[ "$(tr '\n' ' ' <schemes)" = "dark light " ]
}

# bats test_tags=full
@test "a diff shows both sides, zooms into removed paths and sums both sides" {
	"$SPROF" diff before.folded after.folded -o diff.svg >/dev/null
	page diff.svg <<-'EOT'
		await page.hover("parse 56% +16%");
		assert.deepStrictEqual(await page.status(), ["parse",
			"total 40% → 56% (+16% ± 4.4%) · self 10% → 11% (+0.75%, within the error of ± 2.7%)", ""]);
		await page.hover("old_cache -15%");
		assert.match((await page.status())[1], /^removed: total 15% → 0% \(-15% ± 2.2%\)/);
		await page.click("old_cache -15%");
		assert.strictEqual(Math.round((await page.place("old_cache -15%")).width), 1180);
		assert((await page.labels()).includes("evict -3.0% · self -3.0%"));
		assert(!(await page.labels()).some(label => label.startsWith("parse")));
		await page.key("0");
		await page.key("/");
		await page.type("lookup");
		assert.strictEqual(await page.found(), "12% → 6.5% · self 12% → 6.5% · 1 function");
		assert.strictEqual(await page.eval(`document.querySelectorAll(".frames .hit").length`), 2);
		await page.key("Escape");
		await page.click("main 100%");
		assert((await page.labels()).includes("old_cache -15%"), "what a frame lost is shown beside it");
		const gap = await page.eval(`(() => {
			const right = [...document.querySelectorAll(".frames g:not(.faded) > :is(rect, polygon)")].map(r => r.getBoundingClientRect().right);
			return Math.max(...right);
		})()`);
		assert.strictEqual(Math.round(gap), 1190);
	EOT
}

# bats test_tags=full
@test "a butterfly zooms, searches and shows sums in both halves" {
	"$SPROF" flame --butterfly cpu,gpu gpu.data -o butterfly.svg
	page butterfly.svg <<-'EOT'
		const titles = ["CPU time 360 ms", "GPU time 182 ms"];
		// Is a label above the middle line or below it?
		const below = label => page.eval(`(() => {
			const top = e => e.getBoundingClientRect().top;
			const text = [...document.querySelectorAll(".frames text")].find(t => t.textContent.startsWith(${JSON.stringify(label)}));
			return text && top(text) > top(document.querySelector(".frames .middle"));
		})()`);
		assert.deepStrictEqual([await below(titles[0]), await below(titles[1])], [false, true]);
		assert.strictEqual(await below("gemm(float*)"), true);
		// The threads of the two columns have different names. With threads together, main is one path.
		await page.key("t");
		assert.strictEqual((await page.labels()).filter(label => label.startsWith("main 100%")).length, 2);
		await page.hover("main 100%");
		assert.deepStrictEqual(await page.status(), ["main \u00b7 train",
			"CPU time: total 100%, 360 ms (100% of its caller) \u00b7 self 100%, 360 ms \u00b7 360 \u00b1 0 samples",
			"GPU time: total 100%, 182 ms (100% of its caller) \u00b7 self 0%, 0 ns \u00b7 10 launches"]);
		assert.strictEqual(await page.eval(`document.querySelectorAll(".frames .twin").length`), 1);
		await page.hover("gemm(float*)");
		assert.match((await page.status())[1], /^CPU time: none$/);
		assert.match((await page.status())[2], /^GPU time: total \d+%, .* launches$/);
		assert.strictEqual(await page.eval(`document.querySelectorAll(".frames .twin").length`), 0);
		// Search sums each column by its own total.
		await page.key("/");
		await page.type("^(main|gemm)");
		assert.match(await page.found(), /^cpu 100% \u00b7 self 100% \| gpu 100% \u00b7 self 82% \| 2 functions$/);
		assert.strictEqual(await page.eval(`document.querySelectorAll(".frames .hit").length`), 4);
		await page.key("Escape");
		await page.key("/");
		await page.type("gemm");
		await page.key("Enter");
		await page.eval("document.activeElement.blur()");
		assert.match((await page.status())[0], /^gemm/);
		await page.key("Escape");
		// A path with only GPU time: the other half shows the part of the path that both have.
		await page.click("backward() 44%");
		assert.strictEqual(Math.round((await page.place("backward() 44%")).width), 1180);
		const labels = await page.labels();
		for (const title of titles)
			assert(labels.includes(title), `${title}, of ${labels}`);
		assert(!labels.some(label => label.startsWith("model::forward")));
		assert.strictEqual(await page.eval(`document.querySelectorAll(".frames .faded").length`), 4);
		await page.key("0");
		assert((await page.labels()).some(label => label.startsWith("model::forward")));
		// The keyboard crosses the middle to the same path.
		for (const key of ["ArrowUp", "ArrowUp", "ArrowDown", "ArrowDown"])
			await page.key(key);
		assert.match(await page.eval("document.activeElement.getAttribute('aria-label')"), /^all/);
		assert.match(await page.eval("document.activeElement.textContent"), /GPU time 182 ms/);
		// Bottom-up and upside down keep all sums.
		for (const key of ["i", "v"]) {
			await page.key(key);
			assert.match((await page.labels()).join(), /CPU time 360 ms.*GPU time 182 ms/);
			const sums = await page.eval(`(() => {
				const middle = document.querySelector(".frames .middle").getBoundingClientRect().top, sums = [0, 0];
				for (const cap of document.querySelectorAll(".frames .c")) {
					const r = cap.getBoundingClientRect();
					sums[Number(r.top > middle)] += r.width;
				}
				return sums;
			})()`);
			for (const sum of sums)
				assert(Math.abs(sum - 1180) < .5, `caps are ${sums}`);
		}
	EOT
}

# bats test_tags=full
@test "a browser that cannot read base64 itself shows the same picture" {
	page kinds.svg <<-'EOT'
		const frames = () => page.eval(`document.querySelector(".frames").innerHTML`);
		const expected = await frames();
		await page.send("Page.addScriptToEvaluateOnNewDocument", {source: `delete Uint8Array.fromBase64;
			document.addEventListener("sprof-ready", () => { window.isReady = true; }, true)`});
		await page.send("Page.reload");
		// A page that is being left cannot answer.
		while (!await page.eval(`window.isReady`).catch(() => false))
			await new Promise(resolve => setTimeout(resolve, 50));
		assert.equal(await page.eval(`typeof Uint8Array.fromBase64`), "undefined");
		assert.equal(await frames(), expected);
	EOT
}
