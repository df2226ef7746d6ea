/*
 * Owns the tools above the picture of an HTML page, and puts the page together. What is only in the
 * page (tools, page_table.js, page_heat.js) changes the mode (flame_state.js) and is told when it
 * changes.
 */

function button(text, title, onClick) {
	const b = html("button", {type: "button", title}, text);
	b.addEventListener("click", onClick);
	return b;
}

/* The groups of the bar: [mode, text, key, title, icon], each icon a path in 12 x 12 units. */
const VIEWS = [["invert", "bottom-up", "i", "functions with self time first, their callers on them", "M3 11V4M1 6l2-2 2 2M9 1v7M7 6l2 2 2-2"],
	["calls", "time order", "x", "one thread's calls in order of time", "M1 11h10M1 8h4v-3h3v3M9 8h2"],
	["flip", "upside down", "v", "the root at the top", "M1 2h10M3 5h6M5 8h2M6 8v3"]];
const FILTERS = [["merge", "merge recursion", "r", "a function once on each stack", "M9 8a4 4 0 1 1 1-4M10 1v3H7"],
	["noInlined", "hide inlined", "l", "their self time becomes their caller's", "M1 6h2M5 6h2M9 6h2"],
	["noKernel", "hide kernel", "k", "their self time becomes their caller's", "M2 2h8v8H2zM1 11L11 1"],
	["unfold", "every row", "f", "fold no frames", "M1 2h10M1 6h10M1 10h10"]];
const ORDER_NAMES = ["name", "total", "self", "time"], BY_NAMES = ["name", "thread", "process", "none"];
const NAMES = {name: "name", total: "total", self: "self", time: "time", thread: "thread", process: "process", none: "nothing"};

function makeIcon(d) {
	const e = element("svg", {class: "icon", viewBox: "0 0 12 12", "aria-hidden": "true"});
	e.append(element("path", {d}));
	return e;
}

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
	const label = makeLabelled(text, select);
	listeners.mode.push(() => {
		select.value = mode[key];
		label.hidden = mode.calls; /* which has an order, and one thread */
	});
	return label;
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

function makeToggle([key, text, letter, title, icon]) {
	const b = button(text, `${text}: ${title} (${letter})`, () => act(letter));
	b.prepend(makeIcon(icon));
	listeners.mode.push(() => {
		b.setAttribute("aria-pressed", String(mode[key]));
		b.hidden = key === "calls" && !timeline;
	});
	return b;
}

function makeStep(text, title, icon, onClick) {
	const b = button(text, title, onClick);
	b.prepend(makeIcon(icon));
	return b;
}

function makeGroup(name, ...tools) {
	const group = html("div", {role: "group", "aria-label": name});
	group.append(...tools);
	return group;
}

/* Views, filters and navigation. In a narrow window they are behind one button. */
function makeTools() {
	const bar = html("nav", {class: "tools", "aria-label": "how the picture is drawn"});
	const menu = makeStep("tools", "views, filters and navigation", "M1 2h10M1 6h10M1 10h10", () =>
		menu.setAttribute("aria-expanded", String(bar.classList.toggle("open"))));
	menu.className = "menu";
	menu.setAttribute("aria-expanded", "false");
	bar.append(menu,
		makeGroup("views", ...sources.length > 1 ? [makeColumns(), makeBelow()] : [], ...VIEWS.map(makeToggle),
			makeThreadMenu(), makeSelect("order by", "order", ORDER_NAMES, orders)),
		makeGroup("filters", ...FILTERS.map(makeToggle), makeSelect("split by", "by", BY_NAMES, groupings)),
		makeGroup("navigation", makeStep("back", "back (u)", "M11 6H1M5 2L1 6l4 4", () => history.back()),
			makeStep("forward", "forward (U)", "M1 6h10M7 2l4 4-4 4", () => history.forward()),
			makeStep("keys", "what the keys do (?)", "M3 4a3 3 0 1 1 3 3v2M6 11v.5", toggleHelp)));
	document.body.prepend(bar);
}

function makePage() {
	document.body.classList.add("live");
	makeTools();
	makeTable();
	if (timeline)
		makeHeat();
	makeMemory();
	listenToCalls();
	listeners.data.push(showHeat);
}
