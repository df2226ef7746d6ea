/*
 * Owns the heat map of time of an HTML page: a column is a stretch of time, divided into cells from
 * bottom to top. A stretch that is chosen there limits the picture and the table to it.
 */

const STRETCHES = [1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6, 2e6, 5e6, 1e7, 3e7, 6e7, 3e8, 6e8, 18e8, 36e8];
const heat = {};

function measureHeat() {
	const {nr, time: times} = timeline, all = Math.max(times[nr - 1] + 1, memoryEnd());
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
	showLanes();
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
	drawTicks();
	showShades();
	showBrush();
}

/* Marks at round times below the map: at most one for each 90 px. */
function drawTicks() {
	const all = heat.columns * heat.stretch, most = Math.max(1, heat.plot.getBoundingClientRect().width / 90);
	const step = tickStep(all, most), marks = [];
	for (let at = 0; at <= all * .97; at += step) {
		const mark = html("span", {}, at ? time(at * 1000) : "0");
		mark.style.left = 100 * at / all + "%";
		marks.push(mark);
	}
	heat.ticks.replaceChildren(...marks);
	/* A time that is cut off at the end reads as another one. */
	const {right} = heat.ticks.getBoundingClientRect();
	if (marks.length > 1 && marks[marks.length - 1].getBoundingClientRect().right > right)
		marks.pop().remove();
}

/* What the shades of the map mean. */
function showShades() {
	const shades = [.2, .4, .6, .8, 1].map(part => {
		const e = html("i", {});
		e.style.opacity = .12 + .88 * part;
		return e;
	});
	heat.shades.replaceChildren("1 ", ...shades, ` ${heat.most} sample${heat.most === 1 ? "" : "s"} in a cell`);
}

const heatText = ([from, to]) => `${time(from * 1000)} to ${time(to * 1000)}`;

function showBrush(range = mode.range) {
	const all = heat.columns * heat.stretch;
	heat.brush.hidden = !range;
	heat.text.textContent = range ? heatText(range) + " \u00b7 Esc: all" : "drag to choose a time";
	if (!range)
		heat.text.append(html("small", {}, ` \u00b7 column: ${time(heat.stretch * 1000)}, row: ${time(heat.stretch * 1000 / heat.cells)} of it, from bottom to top`));
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
	if (isReading())
		return showBrush(range);
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
		if (start < 0)
			return;
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
	heat.shades = html("span", {class: "shades"});
	heat.ticks = html("div", {class: "ticks", "aria-hidden": "true"});
	heat.plot = html("div", {class: "plot"});
	heat.plot.append(html("span", {class: "all"}, "all threads"), heat.canvas, makeLanes(), heat.ticks, heat.brush);
	heat.note = html("p", {});
	heat.note.append(heat.text, heat.shades);
	heat.box.append(heat.plot, heat.note);
	scroller.before(heat.box);
	listenToHeat();
	listeners.mode.push(() => timeline && showBrush());
	listeners.all.push(() => timeline && drawHeat());
	new ResizeObserver(() => timeline && drawHeat()).observe(heat.canvas);
}
