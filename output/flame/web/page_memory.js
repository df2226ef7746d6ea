/*
 * Owns the readings of the chart of device memory, which memory_chart.c has drawn: the memory in
 * use at the pointer, or at the place chosen with the arrow keys.
 */

const memory = {};

/* Reads the times and bytes of each line from the figure, and collects the times of all changes. */
function readMemory(figure) {
	memory.svg = figure.querySelector("svg");
	memory.ns = Number(memory.svg.dataset.ns);
	memory.lines = [...memory.svg.querySelectorAll("[data-points]")].reverse().map(({dataset}) => {
		const numbers = dataset.points.split(" ").map(Number), line = {name: dataset.name, times: [], bytes: []};
		for (let i = 0, at = 0; i < numbers.length; i += 2) {
			line.times.push(at += numbers[i]);
			line.bytes.push(numbers[i + 1]);
		}
		return line;
	});
	memory.times = [...new Set(memory.lines.flatMap(l => l.times))].sort((a, b) => a - b);
	memory.at = -1;
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

function memoryText(ns) {
	const used = memory.lines.map(l => {
		const nr = countUpTo(l.times, ns);
		return `${l.name}: ${nr ? bytes(l.bytes[nr - 1]) : "no data yet"}`;
	});
	return `${time(ns)}: ${used.join(", ")}`;
}

function showMemory(ns) {
	const none = ns < 0, text = none ? "" : memoryText(ns);
	memory.at = ns;
	memory.cursor.setAttribute("visibility", none ? "hidden" : "visible");
	memory.cursor.setAttribute("d", `M${none ? 0 : 1000 * ns / (memory.ns || 1)} 18V100`);
	memory.text.textContent = text || "point at it, or focus it and press the arrow keys";
	memory.svg.setAttribute("aria-valuenow", none ? 0 : Math.round(ns));
	memory.svg.setAttribute("aria-valuetext", text || "no time chosen");
}

function onMemoryKey(event) {
	const {times} = memory, nr = countUpTo(times, memory.at), here = nr && times[nr - 1] === memory.at;
	const to = {
		ArrowLeft: nr - (here ? 2 : 1), ArrowRight: nr, Home: 0, End: times.length - 1, Escape: -1,
	}[event.key];
	if (to === undefined || (event.key === "Escape" && memory.at < 0))
		return;
	showMemory(event.key === "Escape" ? -1 : times[Math.max(0, Math.min(times.length - 1, to))]);
	event.preventDefault();
	event.stopPropagation();
}

function makeMemory() {
	const figure = document.querySelector(".memory");
	if (!figure)
		return;
	readMemory(figure);
	const {svg} = memory;
	memory.cursor = document.createElementNS("http://www.w3.org/2000/svg", "path");
	memory.cursor.setAttribute("class", "cursor");
	svg.append(memory.cursor);
	memory.text = html("p", {});
	figure.append(memory.text);
	for (const [name, value] of Object.entries({role: "slider", tabindex: "0", "aria-valuemin": "0", "aria-valuemax": memory.ns}))
		svg.setAttribute(name, value);
	svg.addEventListener("pointermove", event => {
		const {left, width} = svg.getBoundingClientRect();
		showMemory(Math.max(0, Math.min(1, (event.clientX - left) / width)) * memory.ns);
	});
	svg.addEventListener("pointerleave", () => showMemory(-1));
	svg.addEventListener("keydown", onMemoryKey);
	showMemory(-1);
}
