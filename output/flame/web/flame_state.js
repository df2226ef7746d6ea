/*
 * Owns the mode, which says how the tree is shown, and its text form in the address of the page. An
 * address contains hashes of the names of paths and functions, so it also works with a picture of
 * another recording of the program.
 */

const mode = {invert: false, flip: false, merge: false, noInlined: false, noKernel: false, unfold: false, order: "name", by: "name",
	range: null, sandwich: -1, calls: false, thread: ""};
const PLAIN_MODE = {...mode};
const listeners = {mode: [], drawn: [], found: [], data: [], all: []};
const tell = what => listeners[what].forEach(f => f());

let plainKey = "", plainTree = null;

/* The tree of the mode with callers below callees, from which tables are made too. */
function plain() {
	const key = [mode.merge, mode.noInlined, mode.noKernel, mode.order, mode.by, mode.range, mode.calls && mode.thread].join();
	if (key !== plainKey || !plainTree) {
		plainTree = derive(mode);
		plainKey = key;
	}
	return plainTree;
}

/* ---- hashes of names: 64 bits, as two FNV-1a hashes with different seeds */

const hashText = (text, seed) => {
	let h = seed;
	for (let i = 0; i < text.length; i++)
		h = Math.imul(h ^ text.charCodeAt(i), 16777619);
	return h >>> 0;
};
const hashOf = f => f.hash || (f.hash = [hashText(f.name + "\0" + f.module, 2166136261),
	hashText(f.name + "\0" + f.module, 3735928559)]);
const hex = ([a, b]) => a.toString(16).padStart(8, "0") + b.toString(16).padStart(8, "0");
const mix = (h, f, lane) => Math.imul(h ^ hashOf(f)[lane], 0x85ebca6b) + lane >>> 0;

function pathHash(tree, node) {
	const path = [];
	for (let i = node; i; i = tree.parent.at(i))
		path.unshift(functions[tree.fn[i]]);
	return hex(path.reduce(([a, b], f) => [mix(a, f, 0), mix(b, f, 1)], [1, 1]));
}

/* The node of the path with that hash, or -1. */
function nodeOf(tree, text) {
	const {nr, fn, depth} = tree, a = [1], b = [1], first = parseInt(text.slice(0, 8), 16), second = parseInt(text.slice(8), 16);
	for (let i = 1; i < nr; i++) { /* `a` and `b` are by depth */
		const f = functions[fn[i]], deep = depth[i];
		a[deep] = mix(a[deep - 1], f, 0);
		b[deep] = mix(b[deep - 1], f, 1);
		if (a[deep] === first && b[deep] === second)
			return i;
	}
	return -1;
}

/* Unfolded folds in the address: hashes of paths, after "-" if of the second tree. */
const MOST_KEPT = 8;
const unfoldedText = () => [...unfolded].slice(0, MOST_KEPT).map(key => key ?
	(key < 0 ? "-" : "") + pathHash(shown.trees[key < 0 ? 1 : 0], Math.abs(key)) : "0").join(" ");
function keyOfFold(text) {
	const second = text[0] === "-", tree = shown.trees[second ? 1 : 0], node = tree && text !== "0" ? nodeOf(tree, text.slice(second)) : 0;
	return second ? -node : node;
}

const functionOf = text => functions.findIndex(f => hex(hashOf(f)) === text);

const treesOf = tree => [tree, tree.twin || null];

/* Bottom-up the most expensive function comes first, unless another order was chosen. */
const inverted = (tree, path) => invert(tree, mode.order === "name" ? "total" : mode.order, path);

/* `folds` lists the folds that are unfolded, as unfoldedText() writes them. */
function rebuild(path, folds = "") {
	const tree = plain(), f = mode.sandwich;
	const trees = mode.calls ? [callsTree(), null] : f >= 0 ? sandwich(tree, f, mode.order) : treesOf(mode.invert ? inverted(tree) : tree);
	shown = {trees, flip: mode.flip};
	const node = path ? nodeOf(trees[0], path) : 0;
	view = node > 0 ? viewOf(trees[0], node) : wholeView();
	unfolded = new Set(folds.split(" ").filter(Boolean).slice(0, MOST_KEPT).map(keyOfFold));
	scrollBefore = scrollPosition();
	refind();
	draw();
	showBase();
	tell("mode");
}

/* Builds a partial tree further, into the callers of a frame that were too narrow so far. */
function viewInverted(tree, node) {
	const path = [], hash = pathHash(tree, node);
	for (let i = node; i; i = tree.parent.at(i))
		path.unshift(tree.fn[i]);
	shown = {...shown, trees: treesOf(inverted(plain(), path))};
	refind();
	return viewOf(shown.trees[0], Math.max(0, nodeOf(shown.trees[0], hash)));
}

const zoomPath = () => view && view.node && view.tree === shown.trees[0] ? pathHash(view.tree, view.node) : "";

function setMode(changes) {
	if (isReading() && needsAll({...mode, ...changes}))
		return whenAll(() => setMode(changes));
	const path = "sandwich" in changes || "invert" in changes ? "" : zoomPath();
	Object.assign(mode, changes);
	if (mode.invert || mode.sandwich >= 0)
		mode.calls = false;
	rebuild(path);
	keepState(true);
}

const SWITCHES = {i: "invert", v: "flip", r: "merge", l: "noInlined", k: "noKernel", f: "unfold"};

function stateText() {
	const state = new URLSearchParams();
	setColumns(state, current, below);
	for (const key in SWITCHES)
		if (mode[SWITCHES[key]])
			state.set(key, "1");
	if (mode.order !== "name")
		state.set("o", mode.order);
	if (mode.by !== "name")
		state.set("t", mode.by);
	if (mode.range)
		state.set("w", mode.range.join("-"));
	if (mode.calls)
		state.set("x", mode.thread || "1");
	if (mode.sandwich >= 0)
		state.set("s", hex(hashOf(functions[mode.sandwich])));
	if (zoomPath())
		state.set("z", zoomPath());
	if (unfolded.size)
		state.set("e", unfoldedText());
	if (search.text || reading.waits.has("find"))
		state.set("q", search.text || head.input.value);
	if (search.marked >= 0)
		state.set("m", hex(hashOf(functions[search.marked])));
	return state.toString();
}

/* Where the picture was scrolled to before it changed. An entry of the history keeps that. */
let scrollBefore = 0;

/* Some viewers forbid a page to change its address. The picture works without that. */
function keepState(push, text = stateText()) {
	if (text === location.hash.slice(1))
		return;
	try {
		if (push && (!history.state || history.state.scroll !== scrollBefore))
			history.replaceState({scroll: scrollBefore}, "");
		history[push ? "pushState" : "replaceState"](push ? {scroll: scrollPosition()} : history.state, "", text ? "#" + text : "#");
	} catch (error) {
		keepState = () => {};
	}
}

const sourceNamed = name => sources.findIndex(s => s.name === name);
const sourceOf = text => Math.max(0, sourceNamed(new URLSearchParams(text).get("c")));
/* The lower column. A column is never below itself. */
const belowOf = text => {
	const state = new URLSearchParams(text), index = state.has("b") ? sourceNamed(state.get("b")) : homeBelow;
	return index === sourceOf(text) ? -1 : index;
};

function setColumns(state, index, other) {
	const usual = homeBelow === index ? -1 : homeBelow;
	state.delete("c");
	state.delete("b");
	if (index)
		state.set("c", sources[index].name);
	if (other !== usual)
		state.set("b", other < 0 ? "none" : sources[other].name);
}

async function useSource(index, other, text) {
	if (!await load(index, other))
		return;
	plainTree = shown = null;
	showColumnTexts();
	tell("data");
	applyState(text);
	keepState(true, reading.waits.has("state") ? text : undefined);
	readAll();
}

/* Shows another column in the current mode; `other` is the lower one, or -1. */
function chooseColumns(index, other) {
	const state = new URLSearchParams(stateText());
	setColumns(state, index, other);
	if (index !== current || other !== below)
		useSource(index, other, state.toString());
}

/* Changes the upper column. If it is the lower one now, the two change places. */
const setColumn = index => chooseColumns(index, index === below ? current : below);

function toggleButterfly() {
	const wanted = [homeBelow, sourceNamed("gpu"), 0, 1].find(i => i >= 0 && i !== current);
	if (sources.length > 1)
		chooseColumns(current, below < 0 ? wanted : -1);
}

async function readState(event) {
	const text = location.hash.slice(1), index = sourceOf(text), other = belowOf(text);
	if (index === current && other === below)
		applyState(text);
	else
		await useSource(index, other, text);
	if (event && event.state && Number.isFinite(event.state.scroll))
		scrollBy(event.state.scroll - scrollPosition());
}

/* Shows a column as it was recorded, until all that its address asks for can be shown. */
function showPlain(state) {
	Object.assign(mode, PLAIN_MODE, {flip: state.get("v") === "1", unfold: state.get("f") === "1"});
	search.text = "";
	search.marked = -1;
	head.input.value = state.get("q") || "";
	rebuild("");
}

function applyState(text) {
	const state = new URLSearchParams(text);
	forget("state");
	if (isReading() && [...state.keys()].some(key => !"vfcb".includes(key))) {
		whenAll(readState, "state");
		return shown || showPlain(state);
	}
	const one = (key, values) => values.includes(state.get(key)) ? state.get(key) : "name";
	const f = key => state.has(key) ? functionOf(state.get(key)) : -1;
	for (const key in SWITCHES)
		mode[SWITCHES[key]] = state.get(key) === "1";
	mode.order = one("o", orders());
	mode.by = one("t", groupings());
	const range = (state.get("w") || "").split("-").map(Number);
	mode.range = timeline && range.length === 2 && range[0] >= 0 && range[1] > range[0] ? range : null;
	mode.sandwich = f("s");
	mode.calls = Boolean(timeline) && typeof callsTree === "function" && state.has("x") && !mode.invert && mode.sandwich < 0;
	mode.thread = /^\d+\.\d+$/.test(state.get("x")) ? state.get("x") : "";
	search.text = head.input.value = state.get("q") || "";
	search.marked = f("m");
	rebuild(/^[0-9a-f]{16}$/.test(state.get("z")) ? state.get("z") : "",
		/^(-?[0-9a-f]{16}|0)( (-?[0-9a-f]{16}|0))*$/.test(state.get("e")) ? state.get("e") : "");
}

const orders = () => timeline ? ["name", "total", "self", "time"] : ["name", "total", "self"];
const groupings = () => timeline ? ["name", "thread", "process", "none"] : ["name", "none"];
const after = (list, value) => list[(list.indexOf(value) + 1) % list.length];
