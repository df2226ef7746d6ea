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

function makePage() {
	document.body.classList.add("live");
	makeTools();
	makeTable();
	if (timeline)
		makeHeat();
	makeMemory();
	listeners.data.push(showHeat);
}
