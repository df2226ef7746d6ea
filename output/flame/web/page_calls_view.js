/*
 * Owns what stands around the calls in order of time: the axis below them, the lines about a box,
 * the menu of threads, and how a time is chosen: by a click on a box, or by dragging over the picture.
 */

const AXIS = 16, DRAG = 5; /* px */

/* The first round number of which there are at most `most` in `all`. */
function tickStep(all, most) {
	const size = 10 ** Math.floor(Math.log10(all / Math.max(1, most)));
	return [1, 2, 5, 10].map(n => n * size).find(n => all / n <= most) || all;
}

/* "1.250 s" or "12.5 ms", with the digits that tell steps of so many us apart. */
function momentText(us, step, most) {
	const [unit, size] = most >= 1e6 ? ["s", 6] : ["ms", 3], digits = size - Math.floor(Math.log10(step) + 1e-9);
	return (us / 10 ** size).toFixed(Math.max(0, Math.min(size, digits))) + " " + unit;
}

/* The axis below the boxes, with a line up from each mark. */
function drawAxis(bottom) {
	const {from, to} = shown.trees[0].calls, all = to - from, step = tickStep(all, chart / 90);
	const lines = element("g", {class: "axis", "aria-hidden": "true"});
	for (let at = Math.ceil(from / step) * step; at < to; at += step) {
		const x = place(at - from, all), text = at ? momentText(at, step, to) : "0";
		if (x + 3 + text.length * columnWidth > MARGIN + chart)
			break;
		lines.append(element("path", {d: `M${number(x)} ${headHeight() + CAP}V${bottom + AXIS - 2}`}),
			element("text", {x: number(x + 3), y: bottom + AXIS - 4}, text));
	}
	return lines;
}

/* The time of a box, in us of the recording. */
const timeOf = ({tree: {calls: {from}}, x, width}) => [from + x, from + x + width];

/* When and how long; then how much of the time shown the function took in all. */
function linesOfCalls(box) {
	const {tree: t, node: i, end: run, last} = box, {column, to, thread} = t.calls, [from, until] = timeOf(box), step = (until - from) / 100;
	const between = `from ${momentText(from, step, to)} to ${momentText(until, step, to)}`, {totalSamples: {[i]: n}} = t;
	const when = [column ? between : `${time((until - from) * 1000)}, ${between}`, `${n} sample${n === 1 ? "" : "s"}`,
		column ? `drawn in columns of ${time(column * 1000)}` : ""].filter(Boolean).join(" \u00b7 ");
	if (last)
		return [linesOfFold(box)[0], when, "click to unfold"];
	if (run)
		return [`${run - i} calls that are too short to draw`, when, "click to enlarge"];
	if (!i)
		return [thread, when];
	const sums = sumsOf(plain()).now, f = t.fn[i], tree = plain();
	return [functions[f].name, when, ["all calls of it: " + share(tree, "total", sums.total[f]) + " \u00b7 " + share(tree, "self", sums.self[f]),
		...whereIs(t, i)].join(" \u00b7 ")];
}

const callsText = ({calls: {thread, column}}) => `${thread} in order of time` +
	(column ? `, each ${time(column * 1000)} shows what took most of it` : "");

/* Shows the time of a box alone. A sample belongs to the time that ends with it. */
function openTime(box) {
	const [from, until] = timeOf(box).map(Math.round);
	if (box.last)
		return setMode({unfold: true});
	if (box.node && until > from)
		setMode({range: [from + 1, until + 1]});
	else if (!box.node && mode.range)
		setMode({range: null});
}

/* Dragging over the picture chooses a time, as in the heat map. */
function listenToCalls() {
	const timeAt = event => {
		const {from, to} = shown.trees[0].calls, {left} = svg.getBoundingClientRect();
		return Math.round(from + Math.max(0, Math.min(1, (event.clientX - left - MARGIN) / chart)) * (to - from));
	};
	let start = null, mark = null, dragged = false;
	const stop = () => {
		if (mark)
			mark.remove();
		start = mark = null;
	};
	svg.addEventListener("pointerdown", event => {
		dragged = false;
		if (mode.calls && !event.button && !event.target.closest("foreignObject, .map"))
			start = {x: event.clientX, at: timeAt(event)};
	});
	svg.addEventListener("pointermove", event => {
		if (!start || !mark && Math.abs(event.clientX - start.x) < DRAG)
			return;
		if (!mark) {
			mark = svg.insertBefore(element("rect", {class: "brush", y: headHeight()}), head.g);
			mark.setAttribute("height", Number(svg.getAttribute("height")) - headHeight() - foot);
			svg.setPointerCapture(event.pointerId);
			dragged = true;
		}
		const {from, to} = shown.trees[0].calls, [a, b] = [start.at, timeAt(event)].sort((x, y) => x - y);
		mark.setAttribute("x", number(place(a - from, to - from)));
		mark.setAttribute("width", number((b - a) / (to - from) * chart));
		head.lines[0].textContent = heatText([a, b]);
	});
	svg.addEventListener("pointerup", event => {
		const range = mark && [start.at, timeAt(event)].sort((x, y) => x - y);
		stop();
		if (range && range[1] > range[0])
			setMode({range});
	});
	svg.addEventListener("pointercancel", stop);
	/* The end of a drag is no click. */
	svg.addEventListener("click", event => {
		if (dragged)
			event.stopImmediatePropagation();
		dragged = false;
	}, true);
}

/* The menu of threads, there while calls are shown in order of time. */
function makeThreadMenu() {
	const select = html("select", {class: "thread"}), label = makeLabelled("thread", select);
	select.addEventListener("change", () => setMode({thread: select.value}));
	listeners.mode.push(() => {
		label.hidden = !mode.calls;
		if (!mode.calls)
			return;
		select.replaceChildren(...threadsByExpense().slice(0, MOST_THREADS).map(({key, name}) => html("option", {value: key}, name)));
		select.value = threadShown().key;
	});
	return label;
}

const MOST_THREADS = 500;

/* Turns the calls in order of time on and off. */
const toggleCalls = () => timeline && setMode({calls: !mode.calls, invert: false, sandwich: -1});
