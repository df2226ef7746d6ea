/*
 * Owns the reading of a large tree. The picture is drawn at once from its outline: the nodes that can
 * be wide enough to be seen, with exact totals, with what is left out on each, and with the sums of
 * all nodes by function. The nodes themselves are in an element behind the script. They are read in
 * slices, between which the browser answers, and then take the place of the outline. What needs them
 * waits until then.
 */

const SLICE = 12 /* ms */, SLICE_NODES = 2 ** 16, PIECE = 2 ** 20; /* PIECE: characters of base64, whole groups of four */
const READING = "reading all stacks \u2026", NOT_READ = "cannot read all stacks: this file is incomplete";
const reading = {waits: new Map(), failed: false, sliceEnd: 0, turn: null};

const isReading = () => Boolean(base.cuts);
const waitingText = () => reading.failed ? NOT_READ : reading.waits.size ? READING : "";

/* Is there a box in such a view that only the whole tree has? As in layout.c, folds look at narrower boxes. */
function isFineEnough(width) {
	const pixel = Math.floor(width / chart) || 1;
	return pixel - Math.floor(pixel / FOLD_SLACK) >= base.least;
}

/* Is the outline not enough to open this box? */
const isTooFine = ({end, last, node}) => isReading() && !last && (end !== 0 || !isFineEnough(base.total[node]));

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
	reading.turn = reading.turn || new MessageChannel();
	return new Promise(resolve => {
		reading.turn.port1.onmessage = () => {
			reading.sliceEnd = performance.now() + SLICE;
			resolve();
		};
		reading.turn.port2.postMessage(0);
	});
}

/* The text of the element behind the script; null if the file was cut off before it. */
async function nodesText() {
	if (document.readyState === "loading")
		await new Promise(resolve => document.addEventListener("DOMContentLoaded", resolve, {once: true}));
	const e = document.querySelector(".nodes"), text = e && e.textContent;
	if (e)
		e.remove();
	return text;
}

async function inflateNodes(text) {
	const pieces = [];
	for (let at = 0; at < text.length; at += PIECE) {
		await pause();
		pieces.push(fromBase64(text.slice(at, at + PIECE)));
	}
	return inflateBlob(new Blob(pieces));
}

async function decodeAll(from) {
	const decoder = makeDecoder(from, 0), {tree} = decoder;
	for (let to = 0; to < tree.nr;) {
		await pause();
		to = Math.min(tree.nr, to + SLICE_NODES);
		decoder.read(to);
	}
	decoder.finish();
	return addUp(tree, tree.total);
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
	const {ordinal} = base, fine = view.panels.every(p => isFineEnough(p.whole)), waits = [...reading.waits.values()];
	replaceOutline(whole, node => ordinal[node]);
	if (fine)
		showStatus(hovered || focused);
	else
		redraw();
	reading.waits.clear();
	sayWaiting();
	waits.forEach(f => f());
}

async function readAll() {
	if (isReading()) {
		svg.classList.add("reading");
		const text = await nodesText(), data = text && await inflateNodes(text).catch(() => null);
		const whole = data && await decodeAll(reader(data));
		if (!whole || whole.nr !== base.ordinal[base.nr]) {
			reading.failed = true;
			sayWaiting();
		} else {
			takeAll(whole);
		}
		svg.classList.remove("reading");
	}
	svg.dispatchEvent(new CustomEvent("sprof-all"));
}
