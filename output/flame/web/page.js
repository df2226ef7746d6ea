/*
 * Owns what only the HTML page has: the tools above the picture, the table of functions and the
 * heat map of time. They change the mode (flame_state.js) and are told when it changes.
 */

/*
 * More rows than a window shows. Each row costs time at every letter typed into the search field.
 */
const FIRST_ROWS = 100;

const page = {rows: FIRST_ROWS, sort: "self", down: true, list: []};

function button(text, title, onClick) {
	const b = html("button", {type: "button", title}, text);
	b.addEventListener("click", onClick);
	return b;
}

/* ---- tools */

const TOGGLES = [["invert", "bottom-up", "i"], ["flip", "upside down", "v"], ["merge", "merge recursion", "r"],
	["noInlined", "hide inlined", "l"], ["noKernel", "hide kernel", "k"]];
const ORDER_NAMES = ["name", "total", "self", "time"], BY_NAMES = ["name", "thread", "process", "none"];
const NAMES = {name: "name", total: "total", self: "self", time: "time", thread: "thread", process: "process", none: "nothing"};

function makeLabelled(text, select) {
	const label = html("label", {}, text + " ");
	select.setAttribute("aria-label", text);
	label.append(select);
	return label;
}

/* A menu of those values that are available now: without a timeline there are no threads. */
function makeSelect(text, key, values, available) {
	const select = html("select", {});
	const fill = () => select.replaceChildren(...values.filter(value => available().includes(value)).map(value =>
		html("option", {value}, key === "by" && value === "name" ? "thread name" : NAMES[value])));
	fill();
	select.addEventListener("change", () => setMode({[key]: select.value}));
	listeners.data.push(fill);
	listeners.mode.push(() => { select.value = mode[key]; });
	return makeLabelled(text, select);
}

function makeColumns() {
	const select = html("select", {});
	sources.forEach(({title}, i) => select.append(html("option", {value: i}, title)));
	select.addEventListener("change", () => setColumn(Number(select.value)));
	listeners.mode.push(() => { select.value = current; });
	return makeLabelled("column", select);
}

/* The menu for the lower column. A column cannot be below itself. */
function makeBelow() {
	const select = html("select", {});
	select.append(html("option", {value: -1}, "none"));
	sources.forEach(({title}, i) => select.append(html("option", {value: i}, title)));
	select.addEventListener("change", () => chooseColumns(current, Number(select.value)));
	listeners.mode.push(() => {
		select.value = below;
		[...select.options].forEach((option, i) => { option.disabled = i === current + 1; });
	});
	return makeLabelled("below it", select);
}

function makeTools() {
	const bar = html("nav", {class: "tools", "aria-label": "how the picture is drawn"});
	if (sources.length > 1)
		bar.append(makeColumns(), makeBelow());
	for (const [key, text, letter] of TOGGLES) {
		const b = button(text, `${text} (${letter})`, () => setMode(key === "invert" ?
			{invert: !mode.invert, sandwich: -1} : {[key]: !mode[key]}));
		listeners.mode.push(() => b.setAttribute("aria-pressed", String(mode[key])));
		bar.append(b);
	}
	bar.append(makeSelect("order by", "order", ORDER_NAMES, orders), makeSelect("split by", "by", BY_NAMES, groupings));
	const back = button("\u2190", "back (u)", () => history.back()), forth = button("\u2192", "forward (U)", () => history.forward());
	back.setAttribute("aria-label", "back");
	forth.setAttribute("aria-label", "forward");
	bar.append(back, forth, button("keys", "what the keys do (?)", toggleHelp));
	document.body.prepend(bar);
}

/* ---- the table: one scale for self and total */

function makeBar(f, self, total) {
	const e = element("svg", {class: "sprof bar", viewBox: "0 0 100 4", preserveAspectRatio: "none", "aria-hidden": "true"});
	const g = element("g", {class: f.color});
	g.append(element("rect", {width: number(total * 100), height: 4, y: 0}),
		element("rect", {class: "c", width: number(self * 100), height: 4, y: 0}));
	e.append(g);
	return e;
}

const partOf = (tree, key, f) => tree.whole ? sumsOf(tree).now[key][f] / tree.whole : 0;
const barOf = (tree, f) => makeBar(functions[f], partOf(tree, "self", f), partOf(tree, "total", f));
const sumColumns = (tree, self, total, of) => [[of + "self", self, f => percent(sumsOf(tree).now.self[f], tree.whole)],
	[of + "total", total, f => percent(sumsOf(tree).now.total[f], tree.whole)]];

/* The columns of the table: [heading, key to sort by, text of a cell]. */
function tableColumns(tree) {
	const s = sumsOf(tree);
	if (tree.twin)
		return twinColumns(tree);
	const columns = [["function", "name", f => functions[f].short],
		...sumColumns(tree, "self", "total", "")];
	if (tree.before)
		columns.push(["\u0394 self", "selfChange", f => changeCell(tree, f, "self")],
			["\u0394 total", "totalChange", f => changeCell(tree, f, "total")]);
	else if (!tree.metric.exact)
		columns.push(["\u00b1", "", f => "\u00b1" + percent(margin(page.sort === "total" ? s.samples.total[f] :
			s.samples.self[f], tree.wholeSamples), tree.wholeSamples)]);
	columns.push(["module", "module", f => functions[f].module]);
	return {columns, bars: f => [barOf(tree, f)]};
}

/* A butterfly has two bars in a row, each relative to the total of its column. */
function twinColumns(tree) {
	const {twin} = tree, name = t => t.metric.name + " ";
	return {columns: [["function", "name", f => functions[f].short], ...sumColumns(tree, "self", "total", name(tree)),
		...sumColumns(twin, "selfBelow", "totalBelow", name(twin)), ["module", "module", f => functions[f].module]],
	bars: f => [barOf(tree, f), barOf(twin, f)]};
}

function changeCell(tree, f, key) {
	const c = functionChange(tree, f, key);
	return c.significant ? changeText(c) : c.was.samples || c.is.samples ? "~" : "";
}

function keyOf(tree) {
	const s = sumsOf(tree), change = key => f => {
		const c = functionChange(tree, f, key);
		return (c.significant ? 1 : 1e-6) * Math.abs(c.change);
	};
	const lowerSum = key => tree.twin && (f => sumsOf(tree.twin).now[key][f]);
	return {name: f => -f, self: f => s.now.self[f], total: f => s.now.total[f], selfChange: change("self"),
		selfBelow: lowerSum("self"), totalBelow: lowerSum("total"),
		totalChange: change("total"), module: f => -modules.indexOf(functions[f].module)}[page.sort];
}

/* The functions of the tree that match the search, sorted. */
function listFunctions(tree) {
	const {frames} = sumsOf(tree), key = keyOf(tree), list = [], {now} = sumsOf(tree);
	for (let f = 1; f < frames.length; f++)
		if (frames[f] && (functions[f].kind !== KIND_THREAD || withTwin(tree).some(t => sumsOf(t).now.self[f])) &&
		    (!search.text || !search.matches || search.matches[f]))
			list.push(f);
	const keys = new Map(list.map(f => [f, key(f)])), sign = page.down ? 1 : -1;
	return list.sort((a, b) => sign * (keys.get(b) - keys.get(a)) || now.total[b] - now.total[a] || a - b);
}

function makeRow(f, {columns, bars}) {
	const row = html("tr", {tabindex: "0", role: "row", "data-f": f});
	row.classList.toggle("marked", search.marked === f);
	for (const [, key, text] of columns) {
		const cell = html("td", {class: key || "margin"}, text(f));
		cell.title = key === "name" ? functions[f].name : cell.textContent;
		if (key === "name")
			cell.append(...bars(f));
		row.append(cell);
	}
	row.addEventListener("click", event => event.shiftKey ? showCallers(f) : mark(f));
	row.addEventListener("dblclick", () => showCallers(f));
	row.addEventListener("keydown", event => onRowKey(event, row, f));
	return row;
}

function onRowKey(event, row, f) {
	const next = {ArrowDown: row.nextElementSibling, ArrowUp: row.previousElementSibling};
	if (event.key in next)
		next[event.key] && next[event.key].focus();
	else if (event.key === "Enter")
		mark(f);
	else if (event.key === "s")
		showCallers(f);
	else
		return;
	event.preventDefault();
	event.stopPropagation();
}

function sortBy(key) {
	page.down = page.sort === key ? !page.down : true;
	page.sort = key;
	showTable();
}

function showTable() {
	const tree = plain();
	if (!tree.twin)
		page.sort = page.sort.replace("Below", "");
	const table = tableColumns(tree), list = listFunctions(tree);
	const heading = html("tr", {});
	for (const [text, key] of table.columns) {
		const cell = html("th", {scope: "col", class: key || "margin"});
		if (key === page.sort)
			cell.setAttribute("aria-sort", page.down ? "descending" : "ascending");
		cell.append(key ? button(text, "sort by " + text, () => sortBy(key)) : text);
		heading.append(cell);
	}
	page.head.replaceChildren(heading);
	page.head.parentElement.classList.toggle("many", table.columns.length > 5);
	const focusedRow = page.body.contains(document.activeElement) ? Number(document.activeElement.dataset.f) : -1;
	page.body.replaceChildren(...list.slice(0, page.rows).map(f => makeRow(f, table)));
	const again = focusedRow < 0 ? null : page.body.querySelector(`[data-f="${focusedRow}"]`);
	if (again)
		again.focus({preventScroll: true});
	page.list = list;
	page.more.hidden = list.length <= page.rows;
	page.more.textContent = `${list.length - page.rows} more`;
	page.caption.textContent = `${list.length} function${list.length === 1 ? "" : "s"}` +
		(search.text ? " found" : "") + (mode.range ? " in the time chosen" : "");
}

function makeTable() {
	const aside = html("aside", {class: "table", "aria-label": "functions"}), table = html("table", {});
	page.caption = html("caption", {});
	page.head = html("thead", {});
	page.body = html("tbody", {});
	page.more = button("more", "show more rows", () => {
		page.rows += 1000;
		showTable();
	});
	if (isDiff)
		page.sort = "selfChange";
	table.append(page.caption, page.head, page.body);
	aside.append(table, page.more);
	document.body.append(aside);
	const restart = () => {
		page.rows = FIRST_ROWS;
		showTable();
	};
	listeners.mode.push(restart);
	listeners.found.push(restart);
}

/* ---- the heat map: a column is a stretch of time, divided into cells from bottom to top */

const STRETCHES = [1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6, 2e6, 5e6, 1e7, 3e7, 6e7, 3e8, 6e8, 18e8, 36e8];
const heat = {};

function measureHeat() {
	const {nr, time: times} = timeline, all = times[nr - 1] + 1;
	heat.stretch = STRETCHES.find(s => all / s <= 240) || Math.ceil(all / 240);
	heat.columns = Math.ceil(all / heat.stretch);
	heat.cells = Math.max(1, Math.min(20, Math.round(nr / heat.columns / 4)));
	heat.counts = new Uint32Array(heat.columns * heat.cells);
	for (let i = 0; i < nr; i++)
		heat.counts[Math.floor(times[i] / heat.stretch) * heat.cells +
			Math.floor(times[i] % heat.stretch / heat.stretch * heat.cells)]++;
	heat.most = heat.counts.reduce((a, b) => Math.max(a, b), 1);
}

function drawHeat() {
	const {canvas, columns: nr, cells, counts, most} = heat, {width, height} = canvas.getBoundingClientRect();
	const scale = window.devicePixelRatio || 1, context = canvas.getContext("2d");
	canvas.width = Math.max(1, Math.round(width * scale));
	canvas.height = Math.max(1, Math.round(height * scale));
	context.fillStyle = getComputedStyle(canvas).color;
	const wide = canvas.width / nr, tall = canvas.height / cells;
	for (let i = 0; i < counts.length; i++) {
		if (!counts[i])
			continue;
		const x = Math.floor(i / cells), y = cells - 1 - i % cells;
		context.globalAlpha = .12 + .88 * counts[i] / most;
		context.fillRect(Math.floor(x * wide), Math.floor(y * tall), Math.ceil(wide), Math.ceil(tall));
	}
	showBrush();
}

const heatText = ([from, to]) => `${time(from * 1000)} to ${time(to * 1000)}`;

function showBrush() {
	const {range} = mode, all = heat.columns * heat.stretch;
	heat.brush.hidden = !range;
	heat.text.textContent = range ? heatText(range) + " \u00b7 Esc: all" :
		`${time(all * 1000)} \u00b7 a column is ${time(heat.stretch * 1000)} \u00b7 drag to choose a time`;
	heat.box.setAttribute("aria-valuetext", range ? heatText(range) : "all");
	heat.box.setAttribute("aria-valuenow", range ? Math.round(range[0] / heat.stretch) : 0);
	if (!range)
		return;
	heat.brush.style.left = 100 * range[0] / all + "%";
	heat.brush.style.width = 100 * (range[1] - range[0]) / all + "%";
}

/* Selects whole columns, from one to the other, both included, in any order. */
function brush(from, to, done) {
	const [a, b] = from < to ? [from, to] : [to, from], limit = n => Math.max(0, Math.min(heat.columns, n));
	const range = [limit(a) * heat.stretch, limit(b + 1) * heat.stretch];
	if (done)
		return setMode({range});
	mode.range = range;
	showBrush();
	if (timeline.nr + base.nr < 100000)
		rebuild(zoomPath());
}

function onHeatKey(event) {
	const by = {ArrowLeft: -1, ArrowRight: 1}[event.key];
	if (event.key === "Escape" && mode.range)
		setMode({range: null});
	else if (!by)
		return;
	else if (!mode.range)
		brush(by > 0 ? 0 : heat.columns - 1, by > 0 ? 0 : heat.columns - 1, true);
	else {
		const [from, to] = mode.range.map(t => t / heat.stretch), last = to - 1;
		const inside = n => Math.max(0, Math.min(heat.columns - 1, n));
		brush(inside(event.shiftKey ? from : from + by), inside(last + by), true);
	}
	event.preventDefault();
	event.stopPropagation();
}

function listenToHeat() {
	const at = event => {
		const {left, width} = heat.canvas.getBoundingClientRect();
		return Math.max(0, Math.min(heat.columns - 1, Math.floor((event.clientX - left) / width * heat.columns)));
	};
	let start = -1, moved = false;
	heat.box.addEventListener("pointerdown", event => {
		start = at(event);
		moved = false;
		heat.box.setPointerCapture(event.pointerId);
	});
	heat.box.addEventListener("pointermove", event => {
		if (start < 0 || (at(event) === start && !moved))
			return;
		moved = true;
		brush(start, at(event), false);
	});
	heat.box.addEventListener("pointerup", event => {
		if (moved)
			brush(start, at(event), true);
		else if (mode.range)
			setMode({range: null});
		else
			brush(start, start, true);
		start = -1;
	});
	heat.box.addEventListener("keydown", onHeatKey);
}

/* Shows the heat map if the current column has times. */
function showHeat() {
	if (!heat.box && timeline)
		makeHeat();
	else if (heat.box)
		heat.box.hidden = !timeline;
	if (!timeline)
		return;
	measureHeat();
	heat.box.setAttribute("aria-valuemax", heat.columns);
	drawHeat();
}

function makeHeat() {
	measureHeat();
	heat.box = html("div", {class: "heat", role: "slider", tabindex: "0", "aria-label": "time chosen", "aria-valuemin": "0",
		"aria-valuemax": heat.columns, "aria-valuenow": "0"});
	heat.canvas = html("canvas", {"aria-hidden": "true"});
	heat.brush = html("div", {class: "brush"});
	heat.text = html("span", {});
	heat.box.append(heat.canvas, heat.brush, heat.text);
	scroller.before(heat.box);
	listenToHeat();
	listeners.mode.push(() => timeline && showBrush());
	new ResizeObserver(() => timeline && drawHeat()).observe(heat.canvas);
}

function makePage() {
	document.body.classList.add("live");
	makeTools();
	makeTable();
	if (timeline)
		makeHeat();
	makeMemory();
	listeners.data.push(showHeat);
}
