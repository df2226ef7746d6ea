/*
 * Owns the reading of a large tree. The picture is drawn at once from its outline: the nodes that can
 * be wide enough to be seen, with exact totals, with what is left out on each, and with the sums of
 * all nodes by function. The nodes themselves are in an element behind the script, one for each column
 * that is large. They are read in slices, between which the browser answers, and then take the place
 * of the outline. What needs them waits until then.
 *
 * A browser may keep memory that a page no longer uses for as long as it likes. So the large buffers
 * are given back as soon as they have been read.
 */

const SLICE = 12 /* ms */, SLICE_NODES = 2 ** 16, PIECE = 2 ** 18; /* PIECE: characters of base64, whole groups of four */
const READING = "reading all stacks \u2026", NOT_READ = "cannot read all stacks: this file is incomplete";
const reading = {waits: new Map(), failed: false, sliceEnd: 0};

const isReading = () => Boolean(base.cuts);
const waitingText = () => reading.failed ? NOT_READ : reading.waits.size ? READING : "";

/* Is there a box in such a view that only the whole tree has? As in layout.c, folds look at narrower boxes. */
function isFineEnough(width) {
	const pixel = Math.floor(width / chart) || 1;
	return pixel - Math.floor(pixel / FOLD_SLACK) >= base.least;
}

/* Is the outline not enough to open this box? */
const isTooFine = ({end, last, node}) => isReading() && !last &&
	(end !== 0 || !isFineEnough(base.sides.reduce((sum, {total}) => sum + total.at(node), 0)));

/* Does a mode show more than the tree as it was recorded? */
const needsAll = wanted => !isPlain(wanted) || wanted.invert || wanted.sandwich >= 0;

function sayWaiting() {
	head.found.textContent = waitingText();
	fitTitle();
}

/* Calls f once all nodes are there; of several with one key only the last. The key of a box to open is that box. */
function whenAll(f, key = {}) {
	if (!isReading())
		return f();
	reading.waits.delete(key);
	reading.waits.set(key, f);
	sayWaiting();
}

function forget(key) {
	if (reading.waits.delete(key))
		sayWaiting();
}

/* Lets the browser do other work if the slice has been long enough. */
function pause() {
	if (performance.now() < reading.sliceEnd)
		return null;
	const {port1, port2} = new MessageChannel();
	return new Promise(resolve => {
		port1.onmessage = () => {
			reading.sliceEnd = performance.now() + SLICE;
			port1.close();
			resolve();
		};
		port2.postMessage(0);
	});
}

/* The text behind the script that belongs to a column; null if there is none, or the file was cut off before it. */
async function restText({name}) {
	if (document.readyState === "loading")
		await new Promise(resolve => document.addEventListener("DOMContentLoaded", resolve, {once: true}));
	const e = [...document.querySelectorAll(".nodes")].find(({dataset}) => dataset.name === name);
	if (!e)
		return null;
	const text = e.textContent;
	if (name === undefined) { /* it is not needed again */
		e.childNodes.forEach(node => { node.data = ""; });
		e.remove();
	}
	return text;
}

/* Gives back the memory of an array that is not needed any more. */
function release({buffer}) {
	if (buffer.transfer)
		buffer.transfer(0);
}

async function deflatedInto(writer, text) {
	for (let at = 0; at < text.length; at += PIECE) {
		await pause();
		const piece = fromBase64(text.slice(at, at + PIECE));
		await writer.write(piece);
		release(piece);
	}
	await writer.close();
}

async function inflatedFrom(pieces, room) {
	let all = new Uint8Array(room), size = 0;
	for (;;) {
		const {done, value} = await pieces.read();
		if (done)
			return all.subarray(0, size);
		if (size + value.length > all.length) {
			const full = all;
			all = resized(Uint8Array, 2 * (size + value.length), full);
			release(full);
		}
		all.set(value, size);
		size += value.length;
		release(value);
	}
}

/* What the outline of a column leaves out; null if there is none, or it is damaged. */
async function inflateRest(source) {
	const text = await restText(source);
	if (!text)
		return null;
	const {readable, writable} = new DecompressionStream("deflate-raw");
	return Promise.all([inflatedFrom(readable.getReader(), 2 * text.length), deflatedInto(writable.getWriter(), text)])
		.then(([all]) => all, () => null);
}

/* Null if another column was asked for meanwhile. */
async function decodeAll(from, flags) {
	const nr = loads, decoder = makeDecoder(from, flags), {tree} = decoder;
	for (let to = 0; ; decoder.read(to)) {
		await pause();
		if (nr !== loads)
			return null;
		if (to === tree.nr)
			return finishTree(decoder, from, flags, true);
		to = Math.min(tree.nr, to + SLICE_NODES);
	}
}

/* Puts the whole tree where the outline was. `to` gives the place of a node of the outline in it. */
function replaceOutline(whole, to) {
	const outline = base, move = (o, keys) => {
		for (const key of keys)
			if (o[key])
				o[key] = to(o[key]);
		o.tree = whole;
	};
	const asked = [...reading.waits.keys()].filter(key => key.tree); /* boxes to open; perhaps no longer drawn */
	for (const box of new Set([...boxes, ...overview.boxes || [], ...asked, focused, hovered].filter(Boolean)))
		move(box, ["node", "end", "last", "next"]);
	for (const p of new Set([...view.panels, ...overview.panels || []]))
		move(p, ["from", "to"]);
	move(view, ["node"]);
	unfolded = new Set([...unfolded].map(to));
	whole.sums = outline.sums;
	base = whole;
	wholes = wholes && whole;
	plainTree = null;
	shown = {...shown, trees: treesOf(whole)};
	if (overview.tree === outline)
		overview.tree = whole;
}

/* Draws the boxes that the outline lacked, and keeps the focus and the place on the screen. */
function redraw() {
	const at = focused, scrolled = scrollPosition();
	draw();
	if (at)
		focus(boxes.find(b => b.node === at.node && !b.end === !at.end && !b.last === !at.last));
	scrollBy(scrolled - scrollPosition());
}

/* Boxes keep their elements, so nothing moves, unless the picture is wider than the outline allows. */
function takeAll(whole) {
	const {ordinal} = base, fine = view.panels.every(p => isFineEnough(p.whole));
	replaceOutline(whole, node => ordinal[node]);
	if (fine) {
		showStatus(hovered || focused);
	} else {
		overview.drawn = null;
		redraw();
	}
	tell("all");
}

function endWaits() {
	const waits = [...reading.waits.values()];
	reading.waits.clear();
	sayWaiting();
	waits.forEach(f => f());
}

/* Reads what the outline of the current column leaves out. False if another column was asked for meanwhile. */
async function readRest() {
	const nr = loads, flags = base.flags, rest = await inflateRest(sources[current] || {});
	if (nr !== loads)
		return false;
	const from = rest && reader(rest), whole = from && await decodeAll(from, flags);
	if (nr !== loads)
		return false;
	reading.failed = !whole || whole.nr !== base.ordinal[base.nr];
	if (!reading.failed) {
		if (timeline)
			timeline.node = decodeSampleNodes(from, timeline);
		release(rest);
		takeAll(whole);
	}
	return true;
}

/* Called when a column was loaded: boxes of the one before can no longer be opened. */
async function readAll() {
	for (const key of [...reading.waits.keys()])
		if (key.tree && key.tree !== base)
			reading.waits.delete(key);
	reading.failed = false;
	svg.classList.toggle("reading", isReading());
	if (isReading() && !await readRest())
		return;
	svg.classList.remove("reading");
	if (reading.failed)
		sayWaiting();
	else
		endWaits();
	svg.dispatchEvent(new CustomEvent("sprof-all"));
}
