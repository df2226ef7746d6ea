/*
 * Owns the data: decodes it (output/flame/svg_data.h), makes trees, and switches columns. script.c
 * joins this file and the others into one function, in the order of its list, so they share one
 * scope.
 *
 * Names come from the profiled program and are untrusted. They enter the page only as text nodes
 * and attribute values.
 *
 * A tree is {nr, fn, depth, parent, end, inlined, self, samples, total, totalSamples}: arrays by
 * node in depth-first order, where nodes [i, end[i]) are node i and everything below it. The tree
 * of a diff has the last four also in `before`. Shares are parts of `whole` and `wholeSamples`;
 * `metric` tells the unit. A large tree has no arrays of ends, parents and totals (flame_large.js), so
 * code that meets any tree says end.at(node) and so on.
 *
 * `flags` are those of the data (output/flame/svg_data.h), where the tree comes from there.
 *
 * The outline of a large tree (flame_read.js) is such a tree, too. It has `cuts`, how many nodes below
 * each are left out, `deepest`, the depth of the deepest of them, `ordinal`, the places of its nodes
 * in the whole tree, and `least`, the width below which a node has no children.
 *
 * A butterfly is two columns as two trees with the same nodes, each the `twin` of the other.
 */
const FLAG_TIME = 1, FLAG_SAMPLES = 2, FLAG_BYTES = 4, FLAG_EXACT = 8, FLAG_DIFF = 16, FLAG_ABSOLUTE = 32;
const FLAG_TIMELINE = 64, FLAG_UNEQUAL = 128, FLAG_OUTLINE = 256;
const KIND_KERNEL = 1, KIND_MARKER = 3, KIND_THREAD = 4, KIND_GPU = 6, KIND_RANGE = 7, KIND_WAIT = 9;
/* Not a function: a time between two boxes of calls in order of time (page_calls.js). */
const KIND_SPACE = -1;
const KINDS = ["native", "kernel", "jit", "marker", "thread",
	"python", "gpu", "range", "unknown", "wait"];
const FINEST_WHOLE = 2 ** 40, RECENT = 3;
/* By the type of the depths that a tree has so far: the first depth that it does not hold, and a type that does. */
const DEPTHS = new Map([[Uint8Array, [2 ** 8, Uint16Array]], [Uint16Array, [2 ** 16, Uint32Array]], [Uint32Array, [Infinity, null]]]);

let functions = [], modules = [], files = [];
/* {name, title, measure, events, exact} of the column; measure formats a value, null = plain */
let metric = null;
let lower = null;  /* the same of the lower column of a butterfly, or null */
let isDiff = false, absolute = false;
let steps = null;    /* {before, after} as in output/tree/diff.h, where samples weigh differently */
let base = null;     /* the tree as recorded */
let wholes = null;   /* the first tree of a diff; changes are parts of its wholes */
/* {time, node, thread, weight: by sample; threads: [{pid, tid, name}]}, times in us; of an outline `node` is null */
let timeline = null;

/*
 * The columns to choose from, {name, title, origin, facts, legend, text}; empty if there is only
 * one.
 */
let sources = [], current = 0, loads = 0;
/* The lower column of a butterfly, now and at the start; -1 = none. */
let below = -1, homeBelow = -1;

/* The bytes that base64 stands for. Browsers of before 2025 do not offer that themselves. */
function fromBase64(text) {
	if (Uint8Array.fromBase64)
		return Uint8Array.fromBase64(text);
	const binary = atob(text), bytes = new Uint8Array(binary.length);
	for (let i = 0; i < bytes.length; i++)
		bytes[i] = binary.charCodeAt(i);
	return bytes;
}

async function inflateBlob(blob) {
	const stream = blob.stream().pipeThrough(new DecompressionStream("deflate-raw"));
	return new Uint8Array(await new Response(stream).arrayBuffer());
}

const inflate = text => inflateBlob(new Blob([fromBase64(text)]));

/* A reader of varints and strings. */
function reader(data) {
	const utf8 = new TextDecoder();
	let at = 0;
	const varint = () => {
		let byte = data[at++], value = byte & 127, unit = 128;
		while (byte & 128) {
			byte = data[at++];
			value += (byte & 127) * unit;
			unit *= 128;
		}
		return value;
	};
	const take = size => {
		at += size;
		return data.subarray(at - size, at);
	};
	const string = () => utf8.decode(take(varint()));
	const column = nr => {
		const values = new Float64Array(nr);
		let here = at; /* a local is faster, and there may be millions */
		for (let i = 0; i < nr; i++) {
			let byte = data[here++], value = byte & 127;
			for (let unit = 128; byte & 128; unit *= 128) {
				byte = data[here++];
				value += (byte & 127) * unit;
			}
			values[i] = value;
		}
		at = here;
		return values;
	};
	/* column() in less memory: a byte each if all are below 128, four if their sum is below 2^32. */
	const smallColumn = nr => {
		const start = at, end = at + nr;
		let sum = 0, most = 0;
		for (let i = start; i < end; i++)
			most |= data[i];
		if (most < 128 && nr < 2 ** 25)
			return take(nr).slice();
		const values = new Uint32Array(nr);
		for (let i = 0; i < nr; i++) {
			const byte = data[at];
			sum += values[i] = byte < 128 ? (at++, byte) : varint();
			if (sum >= 2 ** 32) {
				at = start;
				return column(nr);
			}
		}
		return values;
	};
	return {varint, take, string, column, smallColumn, strings: () => Array.from({length: varint()}, string)};
}

function decodeFunctions(from) {
	const utf8 = new TextDecoder();
	let name = new Uint8Array(256);

	return Array.from({length: from.varint()}, () => {
		const shared = from.varint(), rest = from.take(from.varint()), size = shared + rest.length;
		if (name.length < size) {
			const longer = new Uint8Array(size * 2);
			longer.set(name.subarray(0, shared));
			name = longer;
		}
		name.set(rest, shared);
		const f = {name: utf8.decode(name.subarray(0, size))};
		const start = from.varint();
		f.short = f.name.substr(start, from.varint());
		const [letter, digit] = String.fromCharCode(...from.take(2));
		f.isObject = letter === "v"; /* what a wait was for: colorOf() tells its reason */
		f.color = (f.isObject ? "w" : letter) + digit;
		f.kind = from.varint();
		f.module = modules[from.varint()];
		f.file = files[from.varint()];
		f.line = from.varint();
		return f;
	});
}

/* Numbers that are stored byte by byte: a list of the lowest bytes of all of them, then of the next ones. */
function takeBytes(from, nr, largest) {
	const lists = [];
	for (; largest >= 1; largest /= 256)
		lists.push(from.take(nr));
	return lists;
}

/* An array of that size, which begins with what is in the `old` one, if there is one. */
function resized(Type, size, old) {
	const array = new Type(size);
	if (old)
		array.set(old);
	return array;
}

/*
 * Reads the depths and functions of the nodes of a tree. A function is mostly told by its place among those that its
 * parent's function called last, which are in `recent`, three for each function. `path` has the functions on the path
 * from the root to the latest node.
 */
class NodeDecoder {
	constructor(bytes, calls, tree) {
		const recent = new Uint32Array(functions.length * RECENT);
		Object.assign(this, {bytes, calls, tree, recent, path: new Uint32Array(1024), i: 1, at: 0, call: 0, deep: 0});
	}

	/* Reads the nodes before `to`. Written out, because there may be millions of them. */
	read(to) {
		const {bytes, calls: [low, high, ...higher], tree, recent} = this, {fn} = tree;
		let {depth, inlined} = tree, [deepest, Deeper] = DEPTHS.get(depth.constructor), {path: last, i, at, call, deep} = this;
		for (; i < to; i++) {
			let step = bytes[at++];
			if (step > 127) { /* a varint */
				step &= 127;
				for (let shift = 7; ; shift += 7) {
					const byte = bytes[at++];
					step |= (byte & 127) << shift;
					if (byte < 128)
						break;
				}
			}
			const place = step & 3, up = step >>> 3;
			deep += 1 - up;
			if (deep === last.length)
				last = resized(Uint32Array, 2 * deep, last);
			if (deep === deepest) {
				depth = tree.depth = new Deeper(depth);
				[deepest, Deeper] = DEPTHS.get(Deeper);
			}
			const slot = last[deep - 1] * RECENT, first = recent[slot], second = recent[slot + 1];
			let f = place === 0 ? first : place === 1 ? second : place === 2 ? recent[slot + 2] : low[call] + (up ? last[deep] : 0);
			if (place === 3) {
				if (high)
					f += high[call] << 8;
				for (let h = 0; h < higher.length; h++)
					f += higher[h][call] * 65536 * 256 ** h;
				call++;
			}
			if (place) {
				recent[slot] = f;
				recent[slot + 1] = first;
				if (place > 1)
					recent[slot + 2] = second;
			}
			last[deep] = fn[i] = f;
			depth[i] = deep;
			if (step & 4) {
				if (!inlined.length)
					inlined = tree.inlined = new Uint8Array(tree.nr);
				inlined[i] = 1;
			}
		}
		Object.assign(this, {path: last, i, at, call, deep});
	}
}

/* A tree without inlined frames, which many are, needs no memory for them. */
const NONE_INLINED = new Uint8Array(0);

/* Makes the tree of the nodes that follow, which are then to be read. */
function makeDecoder(from, flags) {
	const nr = from.varint(), size = from.varint(), nrCalls = from.varint(), bytes = from.take(size);
	const calls = takeBytes(from, nrCalls, functions.length);
	const column = isDiff ? from.column : from.smallColumn; /* a diff scales its values */
	const self = column(nr), samples = flags & FLAG_SAMPLES ? column(nr) : self;
	/* Arrays are as small as they can be: a page of many nodes waits for its memory. */
	const tree = {nr, self, samples, depth: new Uint8Array(nr), inlined: NONE_INLINED,
		fn: functions.length > 0xffff ? new Uint32Array(nr) : new Uint16Array(nr)};
	return new NodeDecoder(bytes, calls, tree);
}

/* Completes the tree of a decoder that has read all nodes. isRest: they are what an outline leaves out. */
function finishTree({tree}, from, flags, isRest) {
	const {nr} = tree;
	if (isDiff) {
		const before = from.column(nr);
		tree.before = {self: before, samples: flags & FLAG_SAMPLES ? from.column(nr) : before};
	}
	if (flags & FLAG_OUTLINE)
		decodeOutline(from, tree, flags);
	tree.flags = flags & ~FLAG_OUTLINE;
	return isRest && !isDiff ? completeLarge(tree) : complete(tree);
}

function decodeTree(from, flags, isRest) {
	const decoder = makeDecoder(from, flags);
	decoder.read(decoder.tree.nr);
	return finishTree(decoder, from, flags, isRest);
}

/* What the nodes of an outline do not tell: what it leaves out, and the sums of all nodes by function. */
function decodeOutline(from, tree, flags) {
	const {nr} = tree, size = functions.length, sums = () => ({self: from.column(size), total: from.column(size)});
	tree.least = from.varint();
	tree.cuts = Uint32Array.from(from.column(nr));
	tree.deepest = tree.cuts.map(left => left ? from.varint() : 0);
	if (isDiff)
		tree.removed = Float64Array.from(tree.cuts, left => left ? from.varint() : 0);
	tree.ordinal = new Uint32Array(nr + 1);
	tree.cuts.forEach((left, i) => { tree.ordinal[i + 1] = tree.ordinal[i] + 1 + left; });
	const all = tree.sums = {now: sums()};
	all.samples = flags & FLAG_SAMPLES ? sums() : all.now;
	if (isDiff) {
		all.before = sums();
		all.beforeSamples = flags & FLAG_SAMPLES ? sums() : all.before;
	}
	all.frames = all.now.frames = Uint32Array.from(from.column(size));
}

/* The exact times of a thread, in us: [wall, running, waiting for a CPU, waiting]; null: not known. */
function decodeTimes(from) {
	const times = [from.varint(), from.varint(), from.varint(), from.varint()];
	return times[0] ? times : null;
}

/* The nodes of the samples of an outline come with all nodes. */
function decodeTimeline(from, flags) {
	const threads = Array.from({length: from.varint()}, () =>
		({pid: from.varint(), tid: from.varint(), name: from.string(), exact: decodeTimes(from)}));
	const nr = from.varint(), time = from.column(nr), t = {threads, nr, time};
	for (let i = 1; i < nr; i++)
		time[i] += time[i - 1];
	t.thread = from.column(nr);
	t.weight = from.column(nr);
	t.node = flags & FLAG_OUTLINE ? null : decodeSampleNodes(from, t);
	return t;
}

const decodeSampleNodes = (from, {nr}) => new Uint32Array(from.column(nr));

function decode(data, {name, title}) {
	const from = reader(data), flags = from.varint();
	metric = {name, title, measure: flags & FLAG_TIME ? time : flags & FLAG_BYTES ? bytes : null,
		exact: (flags & FLAG_EXACT) !== 0, events: from.string()};
	steps = flags & FLAG_UNEQUAL ? {before: from.varint(), after: from.varint()} : null;
	lower = null;
	isDiff = (flags & FLAG_DIFF) !== 0;
	absolute = (flags & FLAG_ABSOLUTE) !== 0;
	modules = from.strings();
	files = from.strings();
	functions = decodeFunctions(from);
	wholes = null;
	base = decodeTree(from, flags, false);
	timeline = flags & FLAG_TIMELINE ? decodeTimeline(from, flags) : null;
}

/* Decodes all data of a column. `rest` is what its outline leaves out; null if it has no outline. */
function decodeWhole([data, rest], source) {
	decode(data, source);
	if (!base.cuts)
		return;
	const {sums} = base, from = reader(rest);
	wholes = null;
	base = Object.assign(decodeTree(from, base.flags, true), {sums});
	if (timeline)
		timeline.node = decodeSampleNodes(from, timeline);
}

const flagsOf = data => reader(data).varint();

/*
 * Merges two lists of functions, sorted by name, into one. Returns the new place of each function.
 */
function mergeFunctions(lists) {
	const keyOf = f => [f.name, f.module, f.kind].join("\0"), byKey = new Map(), [root] = lists[0];
	for (const list of lists)
		for (const f of list.slice(1))
			if (!byKey.has(keyOf(f)) || !byKey.get(keyOf(f)).file)
				byKey.set(keyOf(f), f);
	const compare = (a, b) => a < b ? -1 : a > b ? 1 : 0;
	const sorted = [...byKey].sort(([a, f], [b, g]) => compare(f.name, g.name) || compare(a, b));
	functions = [root, ...sorted.map(([, f]) => f)];
	const places = new Map(sorted.map(([key], i) => [key, i + 1]));
	return lists.map(list => list.map((f, i) => i ? places.get(keyOf(f)) : 0));
}

/*
 * Adds a lower column to the current one: one tree with the paths of both. There is no timeline
 * then, as the samples of two columns have no common order.
 */
function putBelow(parts, source) {
	const one = {functions, modules, base, metric};
	decodeWhole(parts, source);
	const places = mergeFunctions([one.functions, functions]), trees = [one.base, base];
	modules = [...new Set([...one.modules, ...modules])].sort();
	lower = metric;
	metric = one.metric;
	timeline = null;
	const builder = new TreeBuilder(0);
	trees.forEach((tree, side) => {
		const {nr, fn, inlined, self, samples} = tree, parent = parentsOf(tree), target = new Uint32Array(nr), weights = side ? [[], [], self, samples] : [self, samples];
		for (let i = 0; i < nr; i++) {
			target[i] = i && builder.child(target[parent[i]], places[side][fn[i]], inlined[i]);
			builder.put(target[i], weights, i);
		}
	});
	base = builder.finish(ORDERS.name);
}

/* The data of a column and, as a butterfly has no outline, what its outline leaves out. */
const inflateAll = async source => [await inflate(source.text), await inflateRest(source)];

/*
 * Switches to another column, perhaps with a lower one. False if another switch began meanwhile. A file that was cut
 * off has an outline alone, which cannot be half of a butterfly.
 */
async function load(index, other) {
	const nr = ++loads, one = other < 0 ? [await inflate(sources[index].text)] : await inflateAll(sources[index]);
	const more = other < 0 ? null : await inflateAll(sources[other]), isCut = ([data, rest]) => flagsOf(data) & FLAG_OUTLINE && !rest;
	if (nr !== loads)
		return false;
	if (!more || isCut(one) || isCut(more)) {
		decode(one[0], sources[index]);
		other = -1;
	} else {
		decodeWhole(one, sources[index]);
		putBelow(more, sources[other]);
	}
	current = index;
	below = other;
	return true;
}

/* A copy in which a number may be the sum of all. */
const roomyCopy = values => values instanceof Uint8Array ? new Uint32Array(values) : values.slice();

function totalsOf(tree, values) {
	const totals = roomyCopy(values), {parent} = tree;
	for (let i = tree.nr - 1; i > 0; i--)
		totals[parent[i]] += totals[i];
	return totals;
}

/* The parents of all nodes, as an array. */
function parentsOf({nr, depth, parent: known}) {
	if (known instanceof Uint32Array)
		return known;
	const parent = new Uint32Array(nr), path = [0];
	for (let i = 1; i < nr; i++) {
		parent[i] = path[depth[i] - 1];
		path[depth[i]] = i;
	}
	return parent;
}

/* Computes parents, ends and totals from depths and selves. */
function complete(tree) {
	const {nr, self} = tree, parent = tree.parent = parentsOf(tree);
	const end = tree.end = new Uint32Array(nr), total = roomyCopy(self);

	end[0] = nr;
	for (let i = nr - 1; i > 0; i--) {
		const above = parent[i], last = end[i] || (end[i] = i + 1);
		if (!end[above])
			end[above] = last;
		total[above] += total[i];
	}
	return addUp(tree, total, null);
}

/* totalSamples: null if they are still to be added up. */
function addUpOne(tree, total, totalSamples) {
	tree.total = total;
	tree.totalSamples = totalSamples || (tree.samples === tree.self ? total : totalsOf(tree, tree.samples));
	tree.whole = total.at(0);
	tree.wholeSamples = tree.totalSamples.at(0);
	tree.sides = [{self: tree.self, total: tree.total}];
	tree.unit = 1;
}

function addUp(tree, total, totalSamples) {
	const b = tree.before;
	addUpOne(tree, total, totalSamples);
	tree.metric = metric;
	if (tree.other) {
		tree.twin = {...tree, ...tree.other, metric: lower, twin: tree};
		addUpOne(tree.twin, totalsOf(tree.twin, tree.twin.self), null);
	}
	if (b) {
		b.total = totalsOf(tree, b.self);
		b.totalSamples = b.samples === b.self ? b.total : totalsOf(tree, b.samples);
		b.whole = b.total[0];
		b.wholeSamples = b.totalSamples[0];
		wholes = wholes || tree;
		addSides(tree);
	}
	return tree;
}

/* As in output/tree/diff.c: the removed paths are scaled to be drawn beside the existing ones. */
function addSides(tree) {
	const {self, total, before} = tree;
	const from = before.whole, to = absolute || !tree.whole ? from : tree.whole;
	while (to && to * tree.unit < FINEST_WHOLE)
		tree.unit *= 2;
	const scale = to * tree.unit / from;
	const gone = new Uint8Array(tree.nr);
	for (let i = 0; i < tree.nr; i++)
		if (!total[i])
			gone[i] = i && !total[tree.parent[i]] ? gone[tree.parent[i]] : totalChange(tree, i).significant;
	const removed = before.self.map((value, i) => tree.cuts && tree.cuts[i] ? tree.removed[i] : gone[i] ? Math.round(value * scale) : 0);
	tree.sides = [{self: self.map(value => value * tree.unit), total: total.map(value => value * tree.unit)},
		{self: removed, total: totalsOf(tree, removed)}];
}

/* The sums by function, and its nodes. Recursive calls count once in the total. */
function sumColumn(tree, own, all) {
	const size = functions.length, inside = new Uint32Array(size), {nr, fn, end} = tree;
	const self = new Float64Array(size), total = new Float64Array(size), frames = new Uint32Array(size);
	for (let i = 0; i < nr; i++) {
		const f = fn[i];
		self[f] += own[i];
		frames[f]++;
		if (i < inside[f])
			continue;
		inside[f] = end[i];
		total[f] += all[i];
	}
	return {self, total, frames};
}

/*
 * {now, samples, before, beforeSamples: {self, total}, frames} by function, computed on first use.
 */
function sumsOf(tree) {
	if (!tree.sums) {
		const b = tree.before, now = sumColumn(tree, tree.self, tree.total), s = tree.sums = {now, frames: now.frames};
		s.samples = tree.samples === tree.self ? s.now : sumColumn(tree, tree.samples, tree.totalSamples);
		if (b) {
			s.before = sumColumn(tree, b.self, b.total);
			s.beforeSamples = sumColumn(tree, b.samples, b.totalSamples);
		}
	}
	return tree.sums;
}
