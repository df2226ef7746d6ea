/*
 * Owns the calls of one thread in order of time: which thread that is, and the tree of its boxes.
 * That tree has the form of all others (flame_data.js), so it is drawn, searched and walked as they
 * are; but its values are us, and a box lies where it was in time. The times between boxes are
 * nodes too, spaces: one above a frame is self time of that frame, and one above the root is time
 * in which there is no sample of the thread.
 *
 * Neighbouring samples with the same frames become one box. If a sample is narrower than a box can
 * be drawn, time is divided into columns, and a column shows the calls that took most of it.
 */

const CALLS_COLUMN = 2, FEWEST_CALLS_COLUMNS = 32, MOST_CALLS_NODES = 2300;
const calls = {of: null, threads: []};

const threadKey = ({pid, tid}) => `${pid}.${tid}`;

/*
 * {key, name, samples} of each thread, the one with the most samples first. A thread that changes
 * its name has several entries in the timeline.
 */
function threadsByExpense() {
	if (calls.of === timeline)
		return calls.threads;
	const {threads, nr, thread} = timeline, counts = new Float64Array(threads.length), byKey = new Map();
	for (let i = 0; i < nr; i++)
		counts[thread[i]]++;
	threads.forEach((t, i) => {
		const key = threadKey(t), known = byKey.get(key) || {key, samples: 0, most: -1};
		known.samples += counts[i];
		if (counts[i] > known.most)
			Object.assign(known, {most: counts[i], name: `${t.name} (${t.tid})`});
		byKey.set(key, known);
	});
	calls.of = timeline;
	calls.threads = [...byKey.values()].sort((a, b) => b.samples - a.samples);
	return calls.threads;
}

const threadShown = () => threadsByExpense().find(({key}) => key === mode.thread) || threadsByExpense()[0];

/* By number of a thread in the timeline: is it the one that is shown? */
function threadsShown() {
	const {key: wanted} = threadShown();
	return Uint8Array.from(timeline.threads, t => threadKey(t) === wanted ? 1 : 0);
}

const timeShown = () => mode.range || [0, timeline.time[timeline.nr - 1] + 1];

function median(values) {
	const sorted = Float64Array.from(values).sort();
	return sorted.length ? sorted[sorted.length >> 1] : 1;
}

/* The samples of the thread that were taken in the time shown, and the us for which each stands. */
function samplesShown() {
	const {nr, time: times, thread, weight} = timeline, only = threadsShown(), [from, to] = timeShown(), list = [];
	for (let i = 0; i < nr; i++)
		if (only[thread[i]] && times[i] >= from && times[i] < to)
			list.push(i);
	const inTime = metric.measure === time, apart = inTime ? 0 : median(list.slice(1).map((at, i) => times[at] - times[list[i]]));
	return {list, long: Float64Array.from(list, i => Math.max(1, inTime ? weight[i] / 1000 : apart))};
}

/*
 * When each of these samples began and ended. A sample stands for the time before it. A short gap
 * between two samples counts as none, because clocks are not exact.
 */
function spansShown() {
	const {list, long} = samplesShown(), [from] = timeShown(), begin = new Float64Array(list.length);
	let last = -Infinity;
	list.forEach((sample, i) => {
		const end = timeline.time[sample], start = Math.max(from, end - long[i]);
		begin[i] = Math.min(end, start - last < long[i] / 2 ? Math.max(last, from) : start);
		last = end;
	});
	return {list, begin, end: Float64Array.from(list, i => timeline.time[i]), usual: median(long)};
}

/* The frames of a stack, root first, as nodes of the recorded tree, without those that are hidden. */
function makePaths() {
	const hidden = hiddenBy({...mode, by: "none"}), paths = new Map();
	return node => {
		let path = paths.get(node);
		if (path)
			return path;
		path = [];
		for (let at = node; at; at = base.parent.at(at))
			if (!hidden(at))
				path.unshift(at);
		if (mode.merge)
			path = path.reduce((short, at) => {
				const same = short.findIndex(other => base.fn[other] === base.fn[at]);
				return same < 0 ? [...short, at] : short.slice(0, same + 1);
			}, []);
		paths.set(node, path);
		return path;
	};
}

/* Of several weighted paths the one that goes, frame by frame, where most of the weight goes. */
function heaviestPath(paths, weights, before) {
	let left = paths.map((_, i) => i), path = paths[0];
	for (let level = 0; left.length > 1; level++) {
		const sums = new Map();
		for (const i of left) {
			const f = level < paths[i].length ? base.fn[paths[i][level]] : -1;
			sums.set(f, (sums.get(f) || 0) + weights[i]);
		}
		const same = level < before.length ? base.fn[before[level]] : -1;
		let best = sums.has(same) ? same : -1;
		for (const [f, sum] of sums)
			if (sum > (sums.get(best) || 0))
				best = f;
		left = left.filter(i => (level < paths[i].length ? base.fn[paths[i][level]] : -1) === best);
		path = paths[left[0]];
		if (best < 0)
			break;
	}
	return path;
}

/* Collects boxes in order of time, which is depth first. */
class CallsBuilder {
	constructor() {
		const known = functions.findIndex(f => f.kind === KIND_SPACE);
		this.space = known >= 0 ? known : functions.push({name: "", short: "", color: "", kind: KIND_SPACE, module: "", file: "",
			line: 0}) - 1;
		this.nodes = [[base.fn[0], 0, 0, 0, 0]];
		this.open = [];
		this.trunk = null;
	}

	add(width, path, nr) {
		const {nodes, open} = this, before = nodes.length;
		let level = 0;
		while (level < path.length && level < open.length && base.fn[path[level]] === open[level])
			level++;
		open.length = level;
		for (; level < path.length; level++) {
			open.push(base.fn[path[level]]);
			nodes.push([open[level], level + 1, base.inlined[path[level]], 0, 0]);
		}
		const last = nodes[nodes.length - 1];
		if (nodes.length === before && last[0] === this.space && last[1] === level + 1) {
			last[3] += width;
			last[4] += nr;
		} else {
			nodes.push([this.space, level + 1, 0, width, nr]);
		}
		if (path.length)
			this.shorten(open);
	}

	/* Cuts the trunk to the frames with which this path begins, too. */
	shorten(path) {
		const trunk = this.trunk || path.slice();
		let n = 0;
		while (n < trunk.length && trunk[n] === path[n])
			n++;
		this.trunk = trunk.slice(0, n);
	}

	finish(about) {
		const {nodes} = this, pick = (Type, i) => Type.from(nodes, node => node[i]);
		return complete({nr: nodes.length, fn: pick(Uint32Array, 0), depth: pick(Uint32Array, 1), inlined: pick(Uint8Array, 2),
			self: pick(Float64Array, 3), samples: pick(Float64Array, 4),
			calls: {...about, trunk: this.trunk ? this.trunk.length : 0}});
	}
}

/* Adds each sample as it is. */
function addSpans(builder, spans, pathOf, [from, to]) {
	let at = from;
	spans.list.forEach((sample, i) => {
		if (spans.begin[i] > at)
			builder.add(spans.begin[i] - at, [], 0);
		builder.add(spans.end[i] - spans.begin[i], pathOf(timeline.node[sample]), 1);
		at = spans.end[i];
	});
	if (to > at)
		builder.add(to - at, [], 0);
}

/* Adds the heaviest path of each column; a sample may reach over several columns. */
function addColumns(builder, {list, begin, end}, pathOf, [from, to], nr) {
	const wide = (to - from) / nr;
	let first = 0, path = [];
	for (let c = 0; c < nr; c++) {
		const left = from + c * wide, right = left + wide, paths = [], weights = [];
		let taken = 0;
		while (first < list.length && end[first] < left)
			first++;
		for (let i = first; i < list.length && begin[i] < right; i++) {
			paths.push(pathOf(timeline.node[list[i]]));
			weights.push(Math.min(end[i], right) - Math.max(begin[i], left) + 1e-9);
			taken += end[i] >= left && end[i] < right;
		}
		path = paths.length ? heaviestPath(paths, weights, path) : [];
		builder.add(wide, path, taken);
	}
}

/* The tree of boxes. Columns are made wider until there are few enough boxes to draw. */
function callsTree() {
	const range = timeShown(), spans = spansShown(), pathOf = makePaths(), all = range[1] - range[0];
	const about = {from: range[0], to: range[1], thread: threadShown().name};
	let nr = Math.max(FEWEST_CALLS_COLUMNS, Math.floor((svg.getBoundingClientRect().width - 2 * MARGIN) / CALLS_COLUMN)), builder;
	if (spans.usual >= all / nr) {
		builder = new CallsBuilder();
		addSpans(builder, spans, pathOf, range);
		if (builder.nodes.length <= MOST_CALLS_NODES)
			return builder.finish({...about, column: 0});
	}
	for (;; nr = Math.floor(nr * .7)) {
		builder = new CallsBuilder();
		addColumns(builder, spans, pathOf, range, nr);
		if (builder.nodes.length <= MOST_CALLS_NODES || nr <= FEWEST_CALLS_COLUMNS)
			return builder.finish({...about, column: all / nr});
	}
}
