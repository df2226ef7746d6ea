/*
 * Owns the timeline of threads below the heat map of an HTML page: a row for each thread, grouped by
 * process, in which a column is as dark as the thread had samples there. It has the scale of the
 * heat map, and a time is chosen in it in the same way.
 */

const THREAD_ROWS = 5, ALL_THREAD_ROWS = 20, THREAD_ROW = 12;
const lanes = {rows: [], all: false};

/* "worker (1235)" for a thread, with the name of its process if that is another. */
function laneText({pid, tid, name}, main) {
	const process = main.get(pid);
	return process && process !== name ? `${process}: ${name} (${tid})` : `${name} (${tid})`;
}

/* Chooses the threads with the most samples; the others share the last row. */
function chooseLanes() {
	const {threads, nr, thread} = timeline, samples = new Float64Array(threads.length), byProcess = new Map();
	const main = new Map(), best = new Map(); /* a process has a name before its exec, too */
	for (let i = 0; i < nr; i++)
		samples[thread[i]]++;
	threads.forEach(({pid, tid, name}, i) => {
		byProcess.set(pid, (byProcess.get(pid) || 0) + samples[i]);
		if (tid === pid && !(best.get(pid) > samples[i])) {
			best.set(pid, samples[i]);
			main.set(pid, name);
		}
	});
	const list = threads.map((_, i) => i).filter(i => samples[i]).sort((a, b) => samples[b] - samples[a] || a - b);
	const most = lanes.all ? ALL_THREAD_ROWS : THREAD_ROWS, shown = list.length > most ? list.slice(0, most - 1) : list;
	shown.sort((a, b) => byProcess.get(threads[b].pid) - byProcess.get(threads[a].pid) ||
		threads[a].pid - threads[b].pid || samples[b] - samples[a]);
	lanes.nr = list.length;
	lanes.rows = shown.map(i => ({thread: i, text: laneText(threads[i], main)}));
	if (shown.length < list.length)
		lanes.rows.push({thread: -1, text: `+${list.length - shown.length} threads`});
}

/* Counts the samples of each row by column of the heat map. */
function measureLanes() {
	const {threads, nr, thread, time: times} = timeline, rest = lanes.rows.length - 1;
	const rowOf = new Int32Array(threads.length).fill(rest);
	lanes.rows.forEach((row, i) => {
		if (row.thread >= 0)
			rowOf[row.thread] = i;
	});
	lanes.counts = new Uint32Array(lanes.rows.length * heat.columns);
	for (let i = 0; i < nr; i++)
		lanes.counts[rowOf[thread[i]] * heat.columns + Math.floor(times[i] / heat.stretch)]++;
	lanes.most = lanes.counts.reduce((a, b) => Math.max(a, b), 1);
}

function drawLanes() {
	const {canvas, rows: list, counts, most} = lanes, {width} = canvas.getBoundingClientRect();
	const scale = window.devicePixelRatio || 1, context = canvas.getContext("2d"), wide = width * scale / heat.columns;
	canvas.style.height = list.length * THREAD_ROW + "px";
	canvas.width = Math.max(1, Math.round(width * scale));
	canvas.height = Math.round(list.length * THREAD_ROW * scale);
	context.fillStyle = getComputedStyle(canvas).color;
	for (let i = 0; i < counts.length; i++) {
		if (!counts[i])
			continue;
		const x = i % heat.columns, y = Math.floor(i / heat.columns) * THREAD_ROW;
		context.globalAlpha = .25 + .75 * counts[i] / most;
		context.fillRect(Math.floor(x * wide), Math.round((y + 1) * scale), Math.ceil(wide), Math.round((THREAD_ROW - 2) * scale));
	}
}

/* One thread needs no timeline: the heat map is it. */
function showLanes() {
	chooseLanes();
	const several = lanes.nr > 1;
	heat.box.classList.toggle("threaded", several);
	lanes.box.hidden = !several;
	if (!several)
		return;
	measureLanes();
	lanes.names.replaceChildren("", ...lanes.rows.map(({thread, text}) => {
		const name = html("span", {title: thread < 0 ? lanes.all ? "show fewer threads" : "show more threads" : text}, text);
		if (thread < 0)
			name.className = "more";
		return name;
	}));
	drawLanes();
}

function makeLanes() {
	lanes.box = html("div", {class: "threads", "aria-hidden": "true"});
	lanes.names = html("div", {class: "names"});
	lanes.canvas = html("canvas", {});
	lanes.box.append(lanes.names, lanes.canvas);
	lanes.names.addEventListener("pointerdown", event => event.stopPropagation());
	lanes.names.addEventListener("click", event => {
		if (event.target.className !== "more")
			return;
		lanes.all = !lanes.all;
		showLanes();
	});
	return lanes.box;
}
