/*
 * Owns the timeline of threads below the heat map of an HTML page: a row for each thread, grouped by
 * process. Without waits a column is as dark as the thread had samples there. With waits it is filled
 * with what the thread did: from the bottom, it ran, it waited for a CPU, it waited for something
 * else. It has the scale of the heat map, and a time is chosen in it in the same way.
 */

const THREAD_ROWS = 5, ALL_THREAD_ROWS = 20, THREAD_ROW = 12;
const lanes = {rows: [], all: false};
/* Running, and the classes of waits (output/flame/color.c), in the order in which they are drawn. */
const STATES = ["run", "w4", "w0", "w1", "w3", "w2"], RUNNING = 0;
const STATE_NAMES = ["running", "waiting for a CPU", "lock", "disk, pipe, socket", "sleep, poll", "other wait"];

/* By node of the tree: the state of a thread whose stack ends there. */
function statesOfNodes() {
	const ofFunction = functions.map(f => Math.max(RUNNING, STATES.indexOf(f.color)));
	const states = Array.from(base.fn, f => ofFunction[f]), parent = parentsOf(base);
	/* The frame nearest to the root is the reason of the wait; others say what it was for. */
	for (let i = 1; i < base.nr; i++)
		states[i] = states[parent[i]] || states[i];
	return states;
}

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
	lanes.nrOthers = new Set(list.filter(i => !shown.includes(i)).map(i => threads[i].tid)).size;
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
	lanes.states = timeline.node ? statesOfNodes() : []; /* an outline does not tell */
	lanes.waits = lanes.states.some(state => state !== RUNNING);
	lanes.counts = new Uint32Array(lanes.rows.length * heat.columns);
	for (let i = 0; i < nr; i++)
		lanes.counts[rowOf[thread[i]] * heat.columns + Math.floor(times[i] / heat.stretch)]++;
	lanes.most = lanes.counts.reduce((a, b) => Math.max(a, b), 1);
	if (lanes.waits)
		measureStates(rowOf);
}

/* Spreads each sample over the time that it stands for, which ends when it was taken. */
function measureStates(rowOf) {
	const {nr, thread, time: times, node, weight} = timeline, {columns, stretch} = heat, size = STATES.length;
	lanes.shares = new Float64Array(lanes.rows.length * columns * size);
	lanes.sums = lanes.rows.map(() => new Float64Array(size));
	for (let i = 0; i < nr; i++) {
		const row = rowOf[thread[i]], state = lanes.states[node[i]], end = times[i], start = Math.max(0, end - weight[i] / 1000);
		lanes.sums[row][state] += weight[i];
		for (let c = Math.floor(start / stretch); c <= Math.min(columns - 1, Math.floor(end / stretch)); c++) {
			const part = Math.min(end, (c + 1) * stretch) - Math.max(start, c * stretch);
			lanes.shares[(row * columns + c) * size + state] += part;
		}
	}
}

/* "running 12%, lock 80%" of a row; the exact times of its thread where they are known. */
function statesText(row, i) {
	const {exact} = timeline.threads[row.thread] || {}, sums = lanes.sums[i], all = sums.reduce((a, b) => a + b, 0);
	const said = [...sums].map((n, state) => n ? `${STATE_NAMES[state]} ${percent(n, all)}` : "").filter(Boolean).join(", ");
	return !exact ? said : `${said}\nexactly: running ${time(exact[1] * 1000)}, waiting for a CPU ${time(exact[2] * 1000)}, ` +
		`waiting ${time(exact[3] * 1000)} of ${time(exact[0] * 1000)}`;
}

/* The fill of each state: of waits, the texture of their boxes in the picture. */
function stateFills(context, scale) {
	return STATES.map(state => {
		const shape = document.querySelector(`#sprof-${state} .wf${state[1]}`), lines = document.querySelector(`#sprof-${state} .wl`);
		if (!shape || !lines)
			return getComputedStyle(lanes.canvas).color;
		const tile = document.createElement("canvas"), size = Math.round(8 * scale), brush = tile.getContext("2d");
		tile.width = tile.height = size;
		brush.fillStyle = getComputedStyle(shape).fill;
		brush.fillRect(0, 0, size, size);
		brush.scale(scale, scale);
		brush.strokeStyle = getComputedStyle(lines).stroke;
		brush.globalAlpha = .7;
		brush.stroke(new Path2D(lines.getAttribute("d")));
		return context.createPattern(tile, "repeat");
	});
}

/* A row is full where its threads did something all the time. */
function drawStates(context, scale, wide) {
	const fills = stateFills(context, scale), size = STATES.length, {columns, stretch} = heat, tall = (THREAD_ROW - 2) * scale;
	lanes.rows.forEach((row, y) => {
		const threads = row.thread < 0 ? lanes.nrOthers : 1, bottom = (y * THREAD_ROW + THREAD_ROW - 1) * scale;
		for (let x = 0; x < columns; x++) {
			const part = lanes.shares.subarray((y * columns + x) * size, (y * columns + x + 1) * size);
			const whole = Math.max(stretch * threads, part.reduce((a, b) => a + b, 0));
			let at = bottom;
			for (let state = 0; state < size; state++) {
				const height = part[state] / whole * tall;
				context.fillStyle = fills[state];
				context.fillRect(Math.floor(x * wide), at - height, Math.ceil(wide), height);
				at -= height;
			}
		}
	});
}

function drawLanes() {
	const {canvas, rows: list, counts, most} = lanes, {width} = canvas.getBoundingClientRect();
	const scale = window.devicePixelRatio || 1, context = canvas.getContext("2d"), wide = width * scale / heat.columns;
	canvas.style.height = list.length * THREAD_ROW + "px";
	canvas.width = Math.max(1, Math.round(width * scale));
	canvas.height = Math.round(list.length * THREAD_ROW * scale);
	if (lanes.waits)
		return drawStates(context, scale, wide);
	context.fillStyle = getComputedStyle(canvas).color;
	for (let i = 0; i < counts.length; i++) {
		if (!counts[i])
			continue;
		const x = i % heat.columns, y = Math.floor(i / heat.columns) * THREAD_ROW;
		context.globalAlpha = .25 + .75 * counts[i] / most;
		context.fillRect(Math.floor(x * wide), Math.round((y + 1) * scale), Math.ceil(wide), Math.round((THREAD_ROW - 2) * scale));
	}
}

/* One thread needs no rows of its own: the heat map shows it. */
function showLanes() {
	chooseLanes();
	const several = lanes.nr > 1;
	heat.box.classList.toggle("threaded", several);
	lanes.box.hidden = !several;
	if (!several)
		return;
	measureLanes();
	lanes.names.replaceChildren("", ...lanes.rows.map(({thread, text}, i) => {
		const title = thread < 0 ? lanes.all ? "show fewer threads" : "show more threads" : `${text}: click for its calls in order of time`;
		const name = html("span", {title: lanes.waits ? `${title}\n${statesText(lanes.rows[i], i)}` : title}, text);
		if (thread < 0)
			name.className = "more";
		else
			name.dataset.thread = threadKey(timeline.threads[thread]);
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
		const {thread} = event.target.dataset;
		if (thread)
			return setMode({calls: true, thread, invert: false, sandwich: -1});
		if (event.target.className !== "more")
			return;
		lanes.all = !lanes.all;
		showLanes();
	});
	return lanes.box;
}
