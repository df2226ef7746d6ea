/*
 * Owns the interaction: the head with title, status lines and search field, the help, keyboard and
 * mouse.
 */

const CONTROLS = 760; /* px of room for the search result and the search field */
const head = {};
let printing = false;
const scroller = svg.closest(".picture"); /* in a page; an SVG scrolls with the window */

function breadcrumb(line, limit) {
	const path = [], {tree, node} = view, about = mode.sandwich >= 0 ? "callers and callees of " : "";
	let used = 0;

	for (let i = node; ; i = tree.parent.at(i)) {
		const f = functions[tree.fn[i]], name = elide(f.short, 40);
		used += columns(name) + 3;
		if (used > limit - 30)
			break;
		const span = element("tspan", {class: "crumb"}, name);
		boxOf.set(span, {tree, node: i, end: 0, last: 0});
		path.unshift(span);
		if (!i)
			break;
	}
	line.replaceChildren();
	path.forEach((span, i) => line.append(i ? " \u203a " : about || "zoomed: ", span));
}

const HELP = [["click, Enter", "zoom into a frame, or out to one below"], ["Esc, 0", "show everything again"],
	["u, U", "undo, redo (like the browser's back and forward)"],
	["/, Ctrl-F", "search: a regex, mod: file: kind: self>1% total>5%"], ["Enter", "in the search field: go to the most expensive match"], ["n, N", "go to the next, previous match by expense"],
	["arrows", "move from frame to frame"], ["s, Shift-click", "show callers and callees of the function"],
	["m", "highlight every frame of the function"], ["i", "turn bottom-up: what takes the time, the most first, then its callers"],
	["x", "show one thread's calls in order of time"], ["v", "turn upside down"], ["r", "merge recursion"], ["l, k", "hide inlined, kernel functions"],
	["f", "show every row: fold no frames"],
	["o", "order by name, total, self, time"], ["t", "split by thread name, thread, process, nothing"],
	["c", "show the next column"], ["b", "show two columns, one up and one down"], ["y", "copy the name"], ["?", "show this help"]];

function modeText() {
	const {trees} = shown;
	return [mode.calls && callsText(trees[0]), mode.invert && "bottom-up", mode.sandwich >= 0 && (trees[0].twin ? trees[0].metric.title + ", " : "") +
		"callers below, callees above", mode.merge && "recursion merged",
		mode.unfold && "every row", mode.noInlined && "without inlined", mode.noKernel && "without kernel", mode.order !== "name" && "by " + mode.order,
		mode.by !== "name" && (mode.by === "none" ? "threads together" : "by " + mode.by),
		mode.range && `${time(mode.range[0] * 1000)} to ${time(mode.range[1] * 1000)}`].filter(Boolean).join(", ");
}

/* Draws the legend from "g2 GPU;n2 native;", with the geometry of output/flame/svg.c. */
function showLegend(kinds) {
	const legend = part("legend"), key = legend.firstElementChild, y = Number(key.querySelector("text").getAttribute("y"));
	let x = MARGIN + 31 + 173 + 16;
	legend.replaceChildren(key);
	for (const kind of kinds.split(";").filter(Boolean)) {
		const [, color, name] = /^(\S+) (.*)$/.exec(kind), g = element("g", {class: color});
		g.append(element("rect", {x, y: y - 9, width: 12, height: 10}));
		if (color[0] === "x")
			g.append(element("rect", {class: "h", x, y: y - 9, width: 12, height: 10}));
		g.append(element("text", {x: x + 17, y}, name));
		legend.append(g);
		x += 17 + Math.floor(name.length * 7.23) + 16;
	}
}

/* Updates the texts around the boxes for the current column. */
function showColumnTexts() {
	const {title, origin, facts, legend} = sources[current], other = sources[below];

	foot = FOOT + (other ? DIFF_LINE : 0);
	if (!other) {
		head.origin = origin;
		factLines = [facts];
		showLegend(legend);
		return;
	}
	head.origin = `${title} up, ${other.title} down, each half by its own total` + (origin && ` \u00b7 ${origin}`);
	factLines = [`${title}: ${facts}`, `${other.title}: ${other.facts}`];
	showLegend([...new Set((legend + other.legend).split(";"))].join(";"));
}

/* As many hints as fit; the last one leads to the help. */
function hints(limit) {
	const list = ["click: zoom", "Esc: show all", "/ search", "n, N: next, previous match", "arrows, Enter: by keyboard", "? more"];

	while (list.length > 1 && columns(list.join(" \u00b7 ")) > limit)
		list.splice(-2, 1);
	return list.join(" \u00b7 ");
}

/* Writes the lines at the top: about a box, or what the whole is, and hints. */
function showStatus(box) {
	const limit = Math.floor((chart - mapRoom()) / columnWidth), plainView = isWhole() && mode.sandwich < 0, most = head.lines.length;
	const texts = box ? linesOf(box) : plainView ? [head.origin] : [""];

	if (!box)
		texts.push(modeText() || (printing ? "" : hints(limit)));
	fitLines(texts.filter((text, i) => text || !i), limit, most).concat(Array(most).fill("")).slice(0, most).forEach((text, i) => {
		head.lines[i].textContent = text;
	});
	if (!box && !plainView)
		breadcrumb(head.lines[0], limit);
}

/* Highlights the same path in the other half of a butterfly. */
function showTwin(box) {
	const before = part("frames").querySelector(".twin");
	if (before)
		before.classList.remove("twin");
	const other = box && !box.end && isButterfly() &&
		boxes.find(b => b.node === box.node && b.tree === box.tree.twin && !b.end && b.last === box.last);
	if (other)
		other.g.classList.add("twin");
}

function hover(box) {
	if (hovered === box)
		return;
	hovered = box;
	showTwin(box);
	showStatus(box || focused);
}

const scrollPosition = () => scroller ? scroller.scrollTop : window.scrollY;

function scrollBy(y) {
	if (scroller)
		scroller.scrollTop += y;
	else
		window.scrollBy(0, y);
}

/* Shortens the title to the space beside the controls. */
function fitTitle() {
	const used = searchRow() ? 0 : 230 + (head.found.textContent.length + 2) * columnWidth + (head.reset.hidden ? 0 : 100);
	const size = searchRow() ? 13 : 15; /* px */
	head.title.parentNode.style.fontSize = size + "px";
	head.title.data = elide(head.titleText, Math.max(5, Math.floor((chart - used) / (size * .605))));
}

function onDrawn(width, moved) {
	/* Keeps the root at its place on the screen. */
	if (moved)
		scrollBy(moved);
	head.ground.setAttribute("width", width);
	placeLines();
	head.controls.setAttribute("x", searchRow() ? MARGIN : width - MARGIN - CONTROLS);
	head.controls.setAttribute("y", 4 + searchRow());
	head.controls.setAttribute("width", searchRow() ? chart : CONTROLS);
	head.input.classList.toggle("wide", searchRow() > 0);
	head.reset.hidden = isWhole() && mode.sandwich < 0 && !unfolded.size && !(mode.calls && mode.range);
	fitTitle();
	const base = boxes.find(box => !box.faded) || boxes[0];
	base.g.setAttribute("tabindex", "0"); /* where the Tab key enters the tree */
	showHits();
	showMap();
	showStatus(null);
	pin();
	tell("drawn");
}

const onFound = () => {
	fitTitle();
	keepState(false);
	tell("found");
};

/* Keeps the head in sight when the picture is scrolled. */
function pin() {
	const top = svg.getBoundingClientRect().top - (scroller ? scroller.getBoundingClientRect().top : 0);
	const most = Number(svg.getAttribute("height")) - headHeight();
	head.g.setAttribute("transform", `translate(0 ${Math.min(Math.max(0, -top), most)})`);
}

function focus(box) {
	if (!box)
		return;
	if (focused && focused.g) {
		focused.g.classList.remove("focus");
		focused.g.setAttribute("tabindex", "-1");
	}
	focused = box;
	showTwin(box);
	box.g.classList.add("focus");
	box.g.setAttribute("tabindex", "0");
	box.g.setAttribute("aria-label", linesOf(box).filter(Boolean).join(", "));
	box.g.focus({preventScroll: true});
	showStatus(box);
	bringIntoSight(box, false);
}

function bringIntoSight(box, always) {
	const place = box.g.getBoundingClientRect(), frame = scroller ? scroller.getBoundingClientRect() :
		{top: 0, bottom: window.innerHeight};
	if (always || place.top < frame.top + headHeight() || place.bottom > frame.bottom)
		scrollBy(place.top - (frame.top + frame.bottom) / 2);
}

/* Shows the lowest row of the view, where reading begins. */
function showBase() {
	const box = boxes.find(b => !b.faded && !b.row) || boxes.find(b => !b.faded) || boxes[0];
	if (shown.trees[1] && view.panels.length > 1)
		return bringIntoSight(box, true);
	const place = box.g.getBoundingClientRect(), frame = scroller ? scroller.getBoundingClientRect() :
		{top: 0, bottom: window.innerHeight};
	if (place.top < frame.top + headHeight() || place.bottom > Math.min(frame.bottom, window.innerHeight))
		scrollBy(hanging ? -1e9 : 1e9);
}

const within = (box, other) => box.x >= other.x && box.x + box.width <= other.x + other.width;
const widest = list => list.reduce((best, box) => best && best.width >= box.width ? best : box, null);

function move(key) {
	const box = focused || boxes.find(b => !b.faded);
	const row = rows.get(box.row), at = row.indexOf(box);
	if (!focused)
		return focus(box);
	if (key === "ArrowLeft")
		return focus(row[at - 1]);
	if (key === "ArrowRight")
		return focus(row[at + 1]);
	const by = (key === "ArrowUp") !== hanging ? 1 : -1, next = rows.get(box.row + by) || [];
	if (isButterfly() && box.row >= 0 !== box.row + by >= 0)
		return focus(next.find(b => b.node === box.node) || next[0]);
	const outward = box.row * by > 0 || !box.row;
	if (outward)
		return focus(widest(next.filter(b => within(b, box))));
	return focus(next.find(b => within(box, b)));
}

function reset() {
	if (mode.sandwich >= 0)
		return setMode({sandwich: -1});
	if (mode.calls && mode.range)
		return setMode({range: null});
	if (!isWhole() || unfolded.size) {
		unfolded.clear();
		zoom(wholeView());
		keepState(true);
	}
}

function clear() {
	head.input.value = "";
	find("");
}

/* The function that is selected: under the pointer, highlighted, with the focus, or zoomed into. */
const functionAt = () => {
	const of = box => box && !box.end && !box.last && box.node ? box.tree.fn[box.node] : -1;
	return [of(hovered), search.marked, of(focused), view.tree === shown.trees[0] ? of({...view, end: 0, last: 0}) : -1].find(f => f > 0) || -1;
};

function showCallers(f) {
	if (f > 0 && functions[f].kind !== KIND_THREAD && sumsOf(plain()).frames[f])
		setMode({sandwich: mode.sandwich === f ? -1 : f});
}

async function copy() {
	const f = functionAt();
	if (f < 0)
		return;
	try {
		await navigator.clipboard.writeText(functions[f].name);
		head.lines[2].textContent = "copied";
	} catch (error) {
		head.lines[2].textContent = "cannot copy here";
	}
}

const KEYS = {
	n: () => step(1, true), N: () => step(-1, true), 0: reset,
	u: () => history.back(), U: () => history.forward(),
	i: () => setMode({invert: !mode.invert, sandwich: -1}), v: () => setMode({flip: !mode.flip}),
	r: () => setMode({merge: !mode.merge}), l: () => setMode({noInlined: !mode.noInlined}),
	k: () => setMode({noKernel: !mode.noKernel}), f: () => setMode({unfold: !mode.unfold}), o: () => setMode({order: after(orders(), mode.order)}),
	t: () => setMode({by: after(groupings(), mode.by)}), s: () => showCallers(functionAt()),
	c: () => sources.length > 1 && setColumn((current + 1) % sources.length), b: toggleButterfly,
	x: () => typeof toggleCalls === "function" && toggleCalls(), m: () => functionAt() > 0 && mark(functionAt()), y: copy, "?": () => toggleHelp(),
};

/* Each of these keys means the next value of something, so those that wait count one by one. */
const NEED_ALL = "irlkotx";
const act = key => NEED_ALL.includes(key) ? whenAll(KEYS[key]) : KEYS[key]();

function onEscape(typing) {
	const used = head.input.value !== "" || search.marked >= 0 || typing;
	if (head.help.style.display !== "none")
		return toggleHelp();
	clear();
	head.input.blur();
	if (!used)
		reset();
}

function onEnter() {
	const {node, end: run, tree} = focused, waits = isTooFine(focused);
	open(focused);
	if (waits)
		return;
	if (tree.calls)
		return focus(boxes[0]);
	focus(boxes.find(b => run ? !b.faded : b.node === node && b.tree === tree));
}

function onKey(event) {
	const typing = event.target === head.input, key = event.key;

	if (!typing && event.target.closest && event.target.closest("input, textarea, select, [contenteditable]"))
		return;
	if ((event.ctrlKey || event.metaKey) && key === "f" && !typing || !typing && key === "/") {
		head.input.focus({preventScroll: true});
		head.input.select();
	} else if (event.ctrlKey || event.metaKey || event.altKey) {
		return;
	} else if (key === "Escape") {
		onEscape(typing);
	} else if (typing) {
		if (key !== "Enter")
			return;
		step(event.shiftKey ? -1 : 1, false);
		head.input.focus({preventScroll: true});
	} else if (event.target.closest && event.target.closest("button, [role=row], [role=slider]") && /^(Enter| |Arrow.*)$/.test(key)) {
		return;
	} else if (key === "Enter" && focused) {
		onEnter();
	} else if (/^Arrow(Left|Right|Up|Down)$/.test(key)) {
		move(key);
	} else if (Object.hasOwn(KEYS, key)) {
		act(key);
	} else {
		return;
	}
	event.preventDefault();
}

function html(name, attributes, ...content) {
	const e = document.createElementNS(XHTML, name);
	for (const key in attributes)
		e.setAttribute(key, attributes[key]);
	e.append(...content.map(String));
	return e;
}

function makeHelp() {
	head.help = element("foreignObject", {class: "help", x: MARGIN, y: HEAD - 4, width: 600, height: 20 * HELP.length + 24});
	const list = html("dl", {}), dialog = html("div", {role: "dialog", "aria-label": "keys"});
	for (const [keys, what] of HELP.filter(([keys]) => (!/^[bc]$/.test(keys) || sources.length > 1) && (keys !== "x" || timeline)))
		list.append(html("dt", {}, keys), html("dd", {}, what));
	dialog.append(list);
	head.help.append(dialog);
	head.help.style.display = "none";
	head.g.append(head.help);
}

function toggleHelp() {
	head.help.style.display = head.help.style.display === "none" ? "" : "none";
}

/* A narrow picture needs more lines for the same words. */
function placeLines() {
	const nr = lineCount();
	if (head.lines && head.lines.length === nr)
		return;
	head.lines = Array.from({length: nr}, (_, i) => element("text", {x: MARGIN, y: 40 + searchRow() + LINE * i, class: i ? "" : "first"}));
	(head.g.querySelector(".status") || part("status")).replaceChildren(...head.lines);
	head.ground.setAttribute("height", headHeight() - 3);
}

function makeHead() {
	const status = part("status"), first = status.querySelector("text");

	head.g = element("g", {class: "head"});
	head.ground = element("rect", {class: "ground", width: 1200, height: HEAD - 3});
	head.origin = first.textContent;
	if (current || below !== homeBelow)
		showColumnTexts();
	placeLines();
	status.setAttribute("role", "status");
	status.setAttribute("aria-live", "polite");
	head.controls = element("foreignObject", {y: 4, width: CONTROLS, height: 26});
	head.reset = html("button", {type: "button"}, "reset zoom");
	head.found = html("span", {"aria-live": "polite"});
	head.input = html("input", {type: "search", placeholder: "search (regex)",
		"aria-label": "search functions by regular expression", spellcheck: "false"});
	const bar = html("div", {class: "controls"});
	bar.append(head.reset, head.found, head.input);
	head.controls.append(bar);
	svg.append(head.g);
	head.title = part("name").firstChild;
	part("name").setAttribute("role", "heading");
	part("name").setAttribute("aria-level", "1");
	head.titleText = head.title.data;
	head.g.append(head.ground, part("name"), status, head.controls);
	makeHelp();
	head.reset.addEventListener("click", reset);
	head.input.addEventListener("input", () => find(head.input.value));
}

function onClick(event, box) {
	if (!box)
		return;
	if (event.shiftKey && !box.end && !box.last)
		showCallers(box.tree.fn[box.node]);
	else if (view.panels.length > 1 && withTwin(view.tree).includes(box.tree) && box.node === view.node && !box.end && !box.last)
		return;
	else
		open(box);
}

function listen() {
	const boxAt = event => {
		const g = event.target.closest && event.target.closest("g, tspan");
		return g ? boxOf.get(g) || null : null;
	};
	svg.addEventListener("click", event => overview.g && overview.g.contains(event.target) ? onMapClick(event) : onClick(event, boxAt(event)));
	/*
	 * After a redraw browsers report moves of a mouse that did not move. They must not change
	 * the focus.
	 */
	let pointer = "";
	svg.addEventListener("mousemove", event => {
		const at = `${event.screenX} ${event.screenY}`;
		if (at !== pointer)
			hover(boxAt(event));
		pointer = at;
	});
	svg.addEventListener("mouseleave", () => {
		pointer = "";
		hover(null);
	});
	svg.addEventListener("focusin", event => {
		const box = boxOf.get(event.target);
		if (box && box.g && box !== focused)
			focus(box);
	});
	document.addEventListener("keydown", onKey);
	window.addEventListener("beforeprint", () => {
		const {width} = svg.getBoundingClientRect();
		svg.setAttribute("viewBox", `0 0 ${Math.max(width, chart + 2 * MARGIN)} ${svg.getAttribute("height")}`);
		head.g.removeAttribute("transform");
		printing = true;
		showStatus(null);
	});
	window.addEventListener("afterprint", () => {
		svg.removeAttribute("viewBox");
		printing = false;
		draw();
	});
	window.addEventListener("scroll", pin, {passive: true, capture: true});
	window.addEventListener("popstate", readState);
	let waiting = 0;
	new ResizeObserver(() => {
		cancelAnimationFrame(waiting);
		waiting = requestAnimationFrame(() => {
			if (!printing && Math.abs(svg.getBoundingClientRect().width - 2 * MARGIN - chart) > .5)
				draw();
		});
	}).observe(svg);
}

function makeLive() {
	homeFoot = FOOT + (isDiff || homeBelow >= 0 ? DIFF_LINE : 0);
	foot = FOOT + (isDiff || below >= 0 ? DIFF_LINE : 0);
	homeBase = Number(svg.getAttribute("height")) - homeFoot;
	svg.classList.add("live");
	svg.removeAttribute("viewBox");
	svg.setAttribute("width", "100%");
	svg.setAttribute("role", "group");
	part("frames").setAttribute("role", "tree");
	part("frames").setAttribute("aria-label", "frames");
	const probe = svg.appendChild(element("text", {}, "0".repeat(100)));
	columnWidth = probe.getComputedTextLength() / 100 || 7.23;
	probe.remove();
	listen();
	readState();
	/* Scrolls to the root, where reading begins. */
	if (isButterfly())
		bringIntoSight(boxes.find(box => !box.row), true);
	else if (!hanging)
		scrollBy(1e9);
}
