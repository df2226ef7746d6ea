/*
 * Owns the trees derived from the recorded one: bottom-up, without recursion, without inlined or
 * kernel frames, by thread, in another order, of a part of the time, or around one function. Each
 * derived tree keeps all weight: its selves add up to those of the tree it is made from.
 */

/* Collects nodes; a function has one node below a parent. finish() makes the tree. */
class TreeBuilder {
	constructor(root) {
		this.nr = 0;
		this.grow(1024);
		this.add(0, root, 0);
	}

	grow(capacity) {
		const copy = (Type, old) => resized(Type, capacity, old);
		this.capacity = capacity;
		this.fn = copy(Uint32Array, this.fn);
		this.parent = copy(Uint32Array, this.parent);
		this.inlined = copy(Uint8Array, this.inlined);
		this.columns = [0, 1, 2, 3].slice(0, isDiff || lower ? 4 : 2).map(i =>
			copy(Float64Array, this.columns && this.columns[i]));
		this.slots = new Int32Array(capacity * 2);
		for (let i = 1; i < this.nr; i++)
			this.slots[this.find(this.parent[i], this.fn[i])] = i;
	}

	find(parent, fn) {
		const mask = this.slots.length - 1;
		let at = (Math.imul(parent, 0x9e3779b1) ^ Math.imul(fn, 0x85ebca6b));
		for (at = (at ^ at >>> 15) & mask; this.slots[at]; at = (at + 1) & mask) {
			const node = this.slots[at];
			if (this.parent[node] === parent && this.fn[node] === fn)
				break;
		}
		return at;
	}

	add(parent, fn, inlined) {
		this.fn[this.nr] = fn;
		this.parent[this.nr] = parent;
		this.inlined[this.nr] = inlined;
		return this.nr++;
	}

	child(parent, fn, inlined) {
		if (this.nr === this.capacity)
			this.grow(this.capacity * 2);
		const slot = this.find(parent, fn), node = this.slots[slot];
		if (!node)
			return this.slots[slot] = this.add(parent, fn, inlined);
		this.inlined[node] &= inlined;
		return node;
	}

	/* Adds the weights of node i of a tree to `node`. A list of weights may be empty. */
	put(node, weights, i) {
		for (let c = 0; c < weights.length; c++)
			this.columns[c][node] += weights[c][i] || 0;
	}

	/* Makes the tree, children sorted by compare(this), nodes in depth-first order. */
	finish(compare) {
		const {nr, parent} = this, first = new Uint32Array(nr + 2), list = new Uint32Array(nr);
		for (let i = 1; i < nr; i++)
			first[parent[i] + 2]++;
		for (let i = 2; i < nr + 2; i++)
			first[i] += first[i - 1];
		for (let i = 1; i < nr; i++)
			list[first[parent[i] + 1]++] = i;
		const less = compare(this), order = new Uint32Array(nr), depth = new Uint32Array(nr);
		for (let i = 0; i < nr; i++)
			sortRange(list, first[i], first[i + 1], less);
		/* The nodes to visit, and the depth of each node. */
		const stack = [0], deep = new Uint32Array(nr);
		for (let at = 0; at < nr; at++) {
			const node = order[at] = stack.pop(), level = depth[at] = deep[node];
			for (let i = first[node + 1]; i-- > first[node];) {
				deep[list[i]] = level + 1;
				stack.push(list[i]);
			}
		}
		const pick = (Type, from) => {
			const to = new Type(nr);
			for (let i = 0; i < nr; i++)
				to[i] = from[order[i]];
			return to;
		};
		const [self, samples, otherSelf, otherSamples] = this.columns.map(c => pick(Float64Array, c));
		const tree = {nr, depth, fn: pick(Uint32Array, this.fn), inlined: pick(Uint8Array, this.inlined), self, samples};
		if (isDiff)
			tree.before = {self: otherSelf, samples: otherSamples};
		else if (lower)
			tree.other = {self: otherSelf, samples: otherSamples};
		return complete(tree);
	}
}

/* Most ranges are sorted already, and most of the others are short. */
function sortRange(list, from, to, less) {
	let i = from + 1;
	while (i < to && less(list[i - 1], list[i]) <= 0)
		i++;
	if (i >= to)
		return;
	if (to - from > 16) {
		list.subarray(from, to).sort(less);
		return;
	}
	for (; i < to; i++) {
		const item = list[i];
		let at = i;
		for (; at > from && less(item, list[at - 1]) < 0; at--)
			list[at] = list[at - 1];
		list[at] = item;
	}
}

const otherOf = tree => tree.before || tree.twin;
const weightsOf = tree => [tree, otherOf(tree)].filter(Boolean).flatMap(t => [t.self, t.samples]);
const totalWeightsOf = tree => [tree, otherOf(tree)].filter(Boolean).flatMap(t => [t.total, t.totalSamples]);

const withTwin = tree => tree.twin ? [tree, tree.twin] : [tree];

/* The orders of children, for finish(). Functions are numbered in the order of names. */
const ORDERS = {
	name: ({fn}) => (a, b) => fn[a] - fn[b],
	total: builder => {
		const total = builder.columns[0].slice(), {parent, fn, nr} = builder;
		for (let i = nr - 1; i > 0; i--)
			total[parent[i]] += total[i];
		return (a, b) => total[b] - total[a] || fn[a] - fn[b];
	},
	self: ({fn, columns: [self]}) => (a, b) => self[b] - self[a] || fn[a] - fn[b],
	time: ({fn, seen}) => (a, b) => seen[a] - seen[b] || fn[a] - fn[b],
};

/* The weights by node of the samples in [from, to) of some threads; null: of all samples, of all threads. */
function weightsIn(range, only) {
	if (!range && !only)
		return weightsOf(base);
	const self = new Float64Array(base.nr), samples = new Float64Array(base.nr);
	const {nr, time, node, weight, thread} = timeline, [from, to] = range || [0, Infinity];
	for (let i = 0; i < nr; i++) {
		if (time[i] >= from && time[i] < to && (!only || only[thread[i]])) {
			self[node[i]] += weight[i];
			samples[node[i]]++;
		}
	}
	return [self, samples];
}

/* A test for hidden frames. Their self goes to their caller. */
function hiddenBy(mode) {
	const kinds = functions.map(f => mode.noKernel && f.kind === KIND_KERNEL ||
		mode.by !== "name" && f.kind === KIND_THREAD);
	return i => kinds[base.fn[i]] || mode.noInlined && base.inlined[i];
}

/* Sets builder.seen: by node, the time of its first sample. */
function markSeen(builder, target) {
	builder.seen = new Float64Array(builder.capacity).fill(Infinity);
	for (let i = 0; i < timeline.nr; i++) {
		for (let at = target[timeline.node[i]]; builder.seen[at] > timeline.time[i]; at = builder.parent[at]) {
			builder.seen[at] = timeline.time[i];
			if (!at)
				break;
		}
	}
}

/*
 * Copies nodes [from, to) of a tree below node `top` of the builder; target[i] becomes the node for
 * i.
 */
function copyNodes(builder, tree, from, to, top, weights, hidden, merge, target) {
	const {fn, depth, inlined} = tree, placeAt = [], fnAt = [], olderAt = []; /* by level */
	const open = merge ? new Int32Array(functions.length).fill(-1) : null;
	let deep = 0;

	for (let i = from; i < to; i++) {
		const level = depth[i] - depth[from], above = level ? placeAt[level - 1] : top;
		for (; open && deep > level; deep--)
			if (fnAt[deep - 1] >= 0)
				open[fnAt[deep - 1]] = olderAt[deep - 1];
		const skip = i === from || hidden(i);
		if (skip)
			target[i] = above;
		else if (open && open[fn[i]] >= 0)
			target[i] = open[fn[i]];
		else
			target[i] = builder.child(above, fn[i], inlined[i]);
		placeAt[level] = target[i];
		if (open) {
			fnAt[level] = skip ? -1 : fn[i];
			olderAt[level] = open[fn[i]];
			deep = level + 1;
			if (!skip)
				open[fn[i]] = target[i];
		}
		builder.put(target[i], weights, i);
	}
}

/* The names of the boxes of threads when the tree is split by thread or process. */
function threadLabels(by) {
	const {threads} = timeline, main = new Map();
	for (const {pid, tid, name} of threads)
		if (!main.has(pid) || tid === pid)
			main.set(pid, name);
	return threads.map(({pid, tid, name}) => by === "thread" ? `${name} (${tid})` : `${main.get(pid)} (${pid})`);
}

/* Builds one subtree per thread or process. */
function splitThreads(builder, mode, hidden, only) {
	const {nr, time, thread, node, weight} = timeline, [from, to] = mode.range || [-Infinity, Infinity];
	const nodes = threadLabels(mode.by).map(name => builder.child(0, functionNamed(name), 0));
	const one = [[0], [1]];
	for (let i = 0; i < nr; i++) {
		if (time[i] < from || time[i] >= to || only && !only[thread[i]])
			continue;
		const path = [], open = new Map();
		for (let at = node[i]; at; at = base.parent.at(at))
			if (!hidden(at))
				path.push(at);
		let at = nodes[thread[i]];
		while (path.length) {
			const frame = path.pop(), f = base.fn[frame];
			at = mode.merge && open.get(f) || builder.child(at, f, base.inlined[frame]);
			open.set(f, at);
		}
		one[0][0] = weight[i];
		builder.put(at, one, 0);
	}
}

/* The function that stands for a thread or process. */
function functionNamed(name) {
	const found = functions.findIndex(f => f.kind === KIND_THREAD && f.name === name);
	return found > 0 ? found : functions.push({name, short: name, color: "t2", kind: KIND_THREAD, module: "",
		file: "", line: 0}) - 1;
}

const isPlain = mode => !mode.merge && !mode.noInlined && !mode.noKernel && mode.order === "name" && mode.by === "name" &&
	!mode.range && !mode.calls;

/* The tree of a mode, with callers below callees. */
function derive(mode) {
	if (isPlain(mode))
		return base;
	const builder = new TreeBuilder(base.fn[0]), hidden = hiddenBy(mode), target = new Uint32Array(base.nr);
	const only = mode.calls ? threadsShown() : null;
	if (mode.by === "thread" || mode.by === "process") {
		splitThreads(builder, mode, hidden, only);
		return builder.finish(ORDERS[mode.order === "time" ? "name" : mode.order]);
	}
	copyNodes(builder, base, 0, base.nr, 0, weightsIn(mode.range, only), hidden, mode.merge, target);
	if (mode.order === "time")
		markSeen(builder, target);
	return builder.finish(ORDERS[mode.order]);
}

/* Adds node i and its callers, innermost first; returns the last node. */
function addCallers(builder, tree, i, weights) {
	let at = 0;
	for (; i; i = tree.parent.at(i))
		at = builder.child(at, tree.fn[i], tree.inlined[i]);
	return at;
}

const LARGE_TREE = 200000, INVERTED_PARTS = 4000;

/*
 * Inverts a large tree only as far as callers are wide enough to be seen, and further along `path`,
 * a list of functions from the root, at whose end narrower ones are built too. A group is a set of
 * nodes with self (`from`) and the current ancestor of each (`at`); those with the same function
 * become one node.
 */
function invertWide(builder, tree, weights, path) {
	const {fn, nr} = tree, parent = parentsOf(tree), scale = tree.twin && tree.twin.whole ? tree.whole / tree.twin.whole || 1 : 1;
	const total = weights[2] ? i => weights[0][i] + weights[2][i] * scale : i => weights[0][i];
	const members = [];
	let whole = 0;
	for (let i = 1; i < nr; i++) {
		if (weights.some(column => column[i])) {
			members.push(i);
			whole += total(i);
		}
	}
	const todo = [{node: 0, from: members, at: members, level: 0, least: whole / INVERTED_PARTS}];
	while (todo.length) {
		const {node, from, at, level, least} = todo.pop(), groups = new Map();
		for (let i = 0; i < from.length; i++) {
			if (!at[i]) {
				builder.put(node, weights, from[i]);
				continue;
			}
			const f = fn[at[i]];
			let group = groups.get(f);
			if (!group)
				groups.set(f, group = {from: [], at: [], width: 0, inlined: 1});
			group.from.push(from[i]);
			group.at.push(parent[at[i]]);
			group.width += total(from[i]);
			group.inlined &= tree.inlined[at[i]];
		}
		for (const [f, group] of groups) {
			const child = builder.child(node, f, group.inlined), onPath = level >= 0 && path[level] === f;
			const finer = onPath && level === path.length - 1 ? Math.min(least, group.width / INVERTED_PARTS) : least;
			if (onPath || group.width >= finer)
				todo.push({node: child, from: group.from, at: group.at, level: onPath ? level + 1 : level >= path.length ?
					level : -1, least: finer});
			else
				group.from.forEach(i => builder.put(child, weights, i));
		}
	}
}

/* Bottom-up: at the root the functions that have self time, on top of each its callers. */
function invert(tree, order, path = []) {
	const builder = new TreeBuilder(tree.fn[0]), weights = weightsOf(tree), large = tree.nr > LARGE_TREE;
	if (large)
		invertWide(builder, tree, weights, path);
	else
		for (let i = 0; i < tree.nr; i++)
			if (weights.some(column => column[i]))
				builder.put(addCallers(builder, tree, i), weights, i);
	const result = builder.finish(ORDERS[order === "time" ? "name" : order]), {depth, parent, fn} = result;
	const of = i => {
		while (depth[i] > 1)
			i = parent.at(i);
		return "self of " + functions[fn[i]].short + " through here";
	};
	for (const t of withTwin(result))
		Object.assign(t, {inverted: true, partial: large, of});
	return result;
}

/*
 * The callees and callers of f, all its frames merged. A recursive frame is part of the outer one.
 */
function sandwich(tree, f, order) {
	const callees = new TreeBuilder(f), callers = new TreeBuilder(f);
	const weights = weightsOf(tree), totals = totalWeightsOf(tree), target = new Uint32Array(tree.nr), none = () => false;
	for (let i = 0; i < tree.nr; i++) {
		if (tree.fn[i] !== f)
			continue;
		copyNodes(callees, tree, i, tree.end.at(i), 0, weights, none, false, target);
		callers.put(addCallers(callers, tree, tree.parent.at(i)), totals.map(total => [total.at(i)]), 0);
		i = tree.end.at(i) - 1;
	}
	const by = ORDERS[order === "time" ? "name" : order], up = callees.finish(by), down = callers.finish(by);
	for (const half of [up, down]) {
		withTwin(tree).forEach(({whole, wholeSamples}, i) => Object.assign(withTwin(half)[i], {whole, wholeSamples}));
	}
	for (const t of withTwin(down))
		Object.assign(t, {inverted: true, of: () => functions[f].short + " called through here"});
	/* In a butterfly takes the column that has the function. */
	return up.total.at(0) || !up.twin ? [up, down] : [up.twin, down.twin];
}
