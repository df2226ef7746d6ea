/*
 * Owns the readings of the charts of memory, which memory_chart.c has drawn: the memory in use at
 * the pointer, or at the place chosen with the arrow keys. Dragging chooses a time, as in the heat
 * map, and the time that is chosen there is shown here.
 */

/* Reads the times and bytes of each line from the figure, and collects the times of all changes. */
function readMemory(figure) {
	const svg = figure.querySelector("svg");
	const lines = [...svg.querySelectorAll("[data-points]")].reverse().map(({dataset}) => {
		const numbers = dataset.points.split(" ").map(Number), line = {name: dataset.name, times: [], bytes: []};
		for (let i = 0, at = 0; i < numbers.length; i += 2) {
			line.times.push(at += numbers[i]);
			line.bytes.push(numbers[i + 1]);
		}
		return line;
	});
	const times = [...new Set(lines.flatMap(l => l.times))].sort((a, b) => a - b);
	return {svg, lines, times, ns: Number(svg.dataset.ns), before: Number(svg.dataset.before), at: -1};
}

/* The us at which the chart of sampled memory ends, so that the heat map above it ends there, too; 0: there is none. */
function memoryEnd() {
	const svg = document.querySelector(".memory svg[data-host]");
	return svg ? Math.floor((svg.dataset.ns - svg.dataset.before) / 1000) : 0;
}

/* The number of sorted times that are not after ns. */
function countUpTo(times, ns) {
	let from = 0, to = times.length;
	while (from < to) {
		const middle = (from + to) >> 1;
		if (times[middle] <= ns)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

function memoryText(memory, ns) {
	const used = memory.lines.map(l => {
		const nr = countUpTo(l.times, ns);
		return `${l.name}: ${nr ? bytes(l.bytes[nr - 1]) : "no data yet"}`;
	});
	return `${time(ns)}: ${used.join(", ")}`;
}

function showMemory(memory, ns) {
	const none = ns < 0, text = none ? "" : memoryText(memory, ns);
	memory.at = ns;
	memory.cursor.setAttribute("visibility", none ? "hidden" : "visible");
	memory.cursor.setAttribute("d", `M${none ? 0 : 1000 * ns / (memory.ns || 1)} 18V100`);
	memory.text.textContent = text || "point at it, or focus it and press the arrow keys";
	memory.svg.setAttribute("aria-valuenow", none ? 0 : Math.round(ns));
	memory.svg.setAttribute("aria-valuetext", text || "no time chosen");
}

/* Shows the time that is chosen in the heat map. */
function showMemoryBrush(memory) {
	const range = timeline && mode.range, x = us => Math.max(0, Math.min(1000, 1000 * (us * 1000 + memory.before) / (memory.ns || 1)));
	memory.brush.setAttribute("visibility", range ? "visible" : "hidden");
	if (!range)
		return;
	memory.brush.setAttribute("x", x(range[0]));
	memory.brush.setAttribute("width", Math.max(1, x(range[1]) - x(range[0])));
}

function onMemoryKey(memory, event) {
	const {times} = memory, nr = countUpTo(times, memory.at), here = nr && times[nr - 1] === memory.at;
	const to = {
		ArrowLeft: nr - (here ? 2 : 1), ArrowRight: nr, Home: 0, End: times.length - 1, Escape: -1,
	}[event.key];
	if (to === undefined || (event.key === "Escape" && memory.at < 0))
		return;
	showMemory(memory, event.key === "Escape" ? -1 : times[Math.max(0, Math.min(times.length - 1, to))]);
	event.preventDefault();
	event.stopPropagation();
}

/* The ns at the pointer, since the left edge. */
function memoryTime(memory, event) {
	const {left, width} = memory.svg.getBoundingClientRect();
	return Math.max(0, Math.min(1, (event.clientX - left) / width)) * memory.ns;
}

/* Dragging chooses whole columns of the heat map. */
function listenToDrags(memory) {
	const column = event => Math.floor((memoryTime(memory, event) - memory.before) / 1000 / heat.stretch);
	const inside = n => Math.max(0, Math.min(heat.columns - 1, n));
	let start = -1, moved = false;
	memory.svg.addEventListener("pointerdown", event => {
		if (!timeline)
			return;
		start = inside(column(event));
		moved = false;
		memory.svg.setPointerCapture(event.pointerId);
	});
	memory.svg.addEventListener("pointermove", event => {
		if (start < 0 || (inside(column(event)) === start && !moved))
			return;
		moved = true;
		brush(start, inside(column(event)), false);
		showMemoryBrush(memory);
	});
	memory.svg.addEventListener("pointerup", event => {
		if (start >= 0 && moved)
			brush(start, inside(column(event)), true);
		else if (start >= 0 && mode.range)
			setMode({range: null});
		start = -1;
	});
}

function makeMemoryOf(figure) {
	const memory = readMemory(figure), {svg} = memory, part = name => document.createElementNS("http://www.w3.org/2000/svg", name);
	memory.brush = part("rect");
	for (const [name, value] of Object.entries({class: "brushed", y: 18, height: 82, visibility: "hidden"}))
		memory.brush.setAttribute(name, value);
	memory.cursor = part("path");
	memory.cursor.setAttribute("class", "cursor");
	svg.append(memory.brush, memory.cursor);
	memory.text = html("p", {});
	figure.append(memory.text);
	for (const [name, value] of Object.entries({role: "slider", tabindex: "0", "aria-valuemin": "0", "aria-valuemax": memory.ns}))
		svg.setAttribute(name, value);
	svg.addEventListener("pointermove", event => showMemory(memory, memoryTime(memory, event)));
	svg.addEventListener("pointerleave", () => showMemory(memory, -1));
	svg.addEventListener("keydown", event => onMemoryKey(memory, event));
	listenToDrags(memory);
	listeners.mode.push(() => showMemoryBrush(memory));
	showMemory(memory, -1);
}

function makeMemory() {
	document.querySelectorAll(".memory").forEach(makeMemoryOf);
}
