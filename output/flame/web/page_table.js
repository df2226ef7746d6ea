/*
 * Owns the table of functions of an HTML page: one row for each function of the tree that matches
 * the search, with bars for self and total on one scale.
 */

/*
 * More rows than a window shows. Each row costs time at every letter typed into the search field.
 */
const FIRST_ROWS = 100;

const page = {rows: FIRST_ROWS, sort: "self", down: true, list: [], scale: 1};

/* The longest bar is the largest total of that many rows, so bars are long enough to compare. */
const SCALE_ROWS = 30;

function makeBar(f, self, total) {
	const e = element("svg", {class: "sprof bar", viewBox: "0 0 100 4", preserveAspectRatio: "none", "aria-hidden": "true"});
	const g = element("g", {class: f.color});
	const length = part => number(Math.min(100, part / page.scale * 100));
	g.append(element("rect", {width: length(total), height: 4, y: 0}),
		element("rect", {class: "c", width: length(self), height: 4, y: 0}));
	e.append(g);
	return e;
}

const partOf = (tree, key, f) => tree.whole ? sumsOf(tree).now[key][f] / tree.whole : 0;
const barOf = (tree, f) => makeBar(functions[f], partOf(tree, "self", f), partOf(tree, "total", f));
const largestIn = (tree, list) => Math.max(.0001, ...list.slice(0, SCALE_ROWS).flatMap(f =>
	withTwin(tree).map(t => partOf(t, "total", f))));
/* "12% 1.24 s"; values without a unit are only percent. */
const sumText = ({metric: {measure}, whole}, value) => percent(value, whole) + (measure ? " " + measure(value) : "");
const sumColumns = (tree, self, total, of) => [[of + "self", self, f => sumText(tree, sumsOf(tree).now.self[f])],
	[of + "total", total, f => sumText(tree, sumsOf(tree).now.total[f])]];

/* The columns of the table: [heading, key to sort by, text of a cell]. */
function tableColumns(tree) {
	if (tree.twin)
		return twinColumns(tree);
	const columns = [["function", "name", f => functions[f].short],
		...sumColumns(tree, "self", "total", "")];
	if (tree.before)
		columns.push(["\u0394 self", "selfChange", f => changeCell(tree, f, "self")],
			["\u0394 total", "totalChange", f => changeCell(tree, f, "total")]);
	else if (!tree.metric.exact)
		columns.push(["\u00b1", "margin", f => "\u00b1" + percent(marginOf(tree, f), tree.wholeSamples)]);
	columns.push(["module", "module", f => functions[f].module]);
	return {columns, bars: f => [barOf(tree, f)]};
}

const marginOf = (tree, f) => margin(sumsOf(tree).samples[page.sort === "total" ? "total" : "self"][f], tree.wholeSamples);

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
		totalChange: change("total"), margin: f => marginOf(tree, f), module: f => -modules.indexOf(functions[f].module)}[page.sort];
}

/* The functions of the tree that match the search, sorted. */
function listFunctions(tree) {
	const {frames} = sumsOf(tree), key = keyOf(tree), list = [], {now} = sumsOf(tree), part = mode.range || mode.calls;
	for (let f = 1; f < frames.length; f++)
		if (frames[f] && (!part || now.total[f]) && (functions[f].kind !== KIND_THREAD || withTwin(tree).some(t => sumsOf(t).now.self[f])) &&
		    (!search.text || !search.matches || search.matches[f]))
			list.push(f);
	const keys = new Map(list.map(f => [f, key(f)])), sign = page.down ? 1 : -1;
	return list.sort((a, b) => sign * (keys.get(b) - keys.get(a)) || now.total[b] - now.total[a] || a - b);
}

function makeRow(f, {columns, bars}) {
	const row = html("tr", {tabindex: "0", role: "row", "data-f": f});
	row.classList.toggle("marked", search.marked === f);
	for (const [, key, text] of columns) {
		const [first, ...rest] = key === "name" ? [text(f)] : text(f).split(" ");
		const cell = html("td", {class: key}, first);
		if (rest.length)
			cell.append(" ", html("small", {}, rest.join(" ")));
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

/* May a line end before this character of a name? After "_" and the like, and between "get" and "Attr". */
function breaks(all, i) {
	const [before, after] = [all[i - 1], all[i]];
	return "_.:/+-, ".includes(before) && before !== after || "<(".includes(after) || /[a-z]/.test(before) && /[A-Z]/.test(after);
}

/* Two lines of a name that is wider than its column. If it is longer than that, it keeps both ends. */
function foldName(name, room) {
	const all = Array.from(name), most = fitting(all, room).length;
	const restOf = at => all.slice(at).join("");
	let at = most;
	while (at > 1 && !breaks(all, at))
		at--;
	if (at < 2 || columns(restOf(at)) > room)
		at = most;
	return all.slice(0, at).join("") + "\n" + (columns(restOf(at)) > room ? endOf(restOf(at), room) : restOf(at));
}

function fitNames() {
	const cell = page.head.querySelector("th.name");
	const room = cell ? Math.floor((cell.getBoundingClientRect().width - 8) / columnWidth) : 0;
	for (const row of page.body.rows) {
		const {short} = functions[row.dataset.f], text = row.querySelector("td.name").firstChild;
		text.data = room > FEWEST && columns(short) > room ? foldName(short, room) : short;
	}
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
	page.scale = largestIn(tree, list);
	for (const [text, key] of table.columns) {
		const cell = html("th", {scope: "col", class: key});
		if (key === page.sort)
			cell.setAttribute("aria-sort", page.down ? "descending" : "ascending");
		cell.append(button(text, key === "margin" ? "sort by the sampling error" : "sort by " + text, () => sortBy(key)));
		heading.append(cell);
	}
	page.head.replaceChildren(heading);
	page.head.parentElement.classList.toggle("many", table.columns.length > 5);
	const focusedRow = page.body.contains(document.activeElement) ? Number(document.activeElement.dataset.f) : -1;
	page.body.replaceChildren(...list.slice(0, page.rows).map(f => makeRow(f, table)));
	fitNames();
	const again = focusedRow < 0 ? null : page.body.querySelector(`[data-f="${focusedRow}"]`);
	if (again)
		again.focus({preventScroll: true});
	page.list = list;
	page.more.hidden = list.length <= page.rows;
	page.more.textContent = `${list.length - page.rows} more`;
	page.caption.textContent = `${list.length} function${list.length === 1 ? "" : "s"}` +
		(search.text ? " found" : "") + ` \u00b7 a full bar is ${fraction(page.scale)}` + (mode.calls ? ` of ${threadShown().name}` : "") +
		(mode.range ? " in the time chosen" : "");
}

/* The line between picture and table, which the pointer or the arrow keys move. */
function makeDivider(aside) {
	const e = html("div", {class: "divider", role: "separator", tabindex: "0", "aria-orientation": "vertical",
		"aria-label": "width of the table", "aria-valuemin": "10", "aria-valuemax": "80"});
	const set = part => {
		const share = Math.max(.1, Math.min(.8, part));
		document.body.style.gridTemplateColumns = `minmax(0, 1fr) auto ${(share * 100).toFixed(2)}%`;
		e.setAttribute("aria-valuenow", Math.round(share * 100));
	};
	const now = () => aside.getBoundingClientRect().width / window.innerWidth;
	let moves = false;
	e.setAttribute("aria-valuenow", "34");
	e.addEventListener("pointerdown", event => {
		moves = true;
		e.setPointerCapture(event.pointerId);
	});
	e.addEventListener("pointermove", event => moves && set(1 - event.clientX / window.innerWidth));
	e.addEventListener("pointerup", () => { moves = false; });
	e.addEventListener("keydown", event => {
		const by = {ArrowLeft: .02, ArrowRight: -.02}[event.key];
		if (!by)
			return;
		set(now() + by);
		event.preventDefault();
		event.stopPropagation();
	});
	return e;
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
	document.body.append(makeDivider(aside), aside);
	new ResizeObserver(fitNames).observe(aside);
	const restart = () => {
		page.rows = FIRST_ROWS;
		showTable();
	};
	listeners.mode.push(restart);
	listeners.found.push(restart);
}
