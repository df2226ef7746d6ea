/*
 * Owns the picture: what is shown, the layout of its boxes, and their SVG elements. Geometry and
 * class names are those of output/flame/layout.c and svg_frames.c.
 *
 * A view is a list of panels, side by side or one above the other. A panel shows nodes [from, to)
 * of a tree, with the widths of one side of it (a diff has two sides). A box is a frame of a panel,
 * a run of frames too narrow to draw (`end` is not 0), or a fold (`last` is not 0): frames that only
 * call one another, from `node` to `last`, below the frame `next`. Its part of the chart is its
 * width divided by its `whole`.
 */
const NS = "http://www.w3.org/2000/svg", XHTML = "http://www.w3.org/1999/xhtml";
const MARGIN = 10, HEAD = 78, ROW = 18, BOX = 17, CAP = 6, FOOT = 46, PAD = 4, SLIM = 4;
const MAX_BOXES = 2400, MAX_ROWS = 800, MAX_ANCESTORS = 200, RUN_PARTS = 8, GAP_PARTS = 96, DIFF_LINE = 14;
const FREE_ROWS = 64, TOWER_PARTS = 800, MIDDLE = 5;
const FOLD_ROWS = 32, FOLD_LEAST = 4, FOLD_SLACK = 32, FOLD_FREE_ROWS = 24, STEEPEST = 50, LOWEST_ANCESTORS = 2, NEXT_ANCESTORS = 4;

const svg = (document.currentScript && document.currentScript.ownerSVGElement) ||
	document.querySelector("svg.sprof");
/* querySelector() would look at every box. */
const part = name => [...svg.children].find(e => e.classList.contains(name));
const element = (name, attributes, text) => {
	const e = document.createElementNS(NS, name);
	for (const key in attributes)
		e.setAttribute(key, attributes[key]);
	if (text !== undefined)
		e.textContent = text;
	return e;
};

let shown = null; /* {trees: [up, down or null], flip} */
let view = null, boxes = [], rows = new Map(), boxOf = new WeakMap();
/* Folds that are shown as frames: node, or -node in the second tree; 0 = those below the zoomed frame. */
let unfolded = new Set();
let wholeScroll = 0; /* where the picture was scrolled to before a zoom */
let focused = null, hovered = null, factLines = null; /* factLines: before they are folded */
let chart = 1180, columnWidth = 7.23, homeBase = 0, homeFoot = FOOT, foot = FOOT;

const NARROW = 600, LINE = 15;
const lineCount = () => chart < NARROW ? 5 : 3;
/* A narrow picture has no room for the search field beside the title: it stands in a row below. */
const searchRow = () => chart < NARROW ? 26 : 0;
const headHeight = () => HEAD + searchRow() + (lineCount() - 3) * LINE;

const panel = (tree, side, from, to, width, down) => ({tree, side, from, to, width, down});

/* A butterfly has one column up and another down, each as wide as the chart. */
const isButterfly = () => Boolean(shown.trees[1]) && shown.trees[1] === shown.trees[0].twin;
const butterflyView = (node, to, widthOf) => ({panels: shown.trees.map((tree, i) =>
	panel(tree, 0, node, to, widthOf(tree), i > 0)), tree: shown.trees[0], node});

function widthOfRun({total, end: ends}, from, to) {
	let width = 0;
	for (let i = from; i < to; i = ends.at(i))
		width += total.at(i);
	return width;
}

const viewOf = (tree, node) => {
	if (isButterfly())
		return butterflyView(node, tree.end.at(node), t => t.total.at(node));
	const panels = tree.sides.map((side, i) => panel(tree, i, node, tree.end.at(node), side.total.at(node), tree === shown.trees[1]));
	if (!node && tree === shown.trees[0] && shown.trees[1])
		panels.push(...viewOf(shown.trees[1], 0).panels);
	return {panels, tree, node};
};
const viewOfRun = ({tree, node, end, width, removed, down}) => isButterfly() ?
	butterflyView(node, end, t => widthOfRun(t, node, end)) : ({panels: tree.sides.map((_, i) =>
	panel(tree, i, node, end, i === (removed ? 1 : 0) ? width : 0, down)), tree, node});
const wholeView = () => viewOf(shown.trees[0], 0);
const isWhole = () => view.panels[0].from === 0 && view.tree === shown.trees[0];

/* Places panels of one direction side by side, with a gap between two that are not empty. */
function placePanels() {
	const up = view.panels.filter(p => !p.down), down = view.panels.filter(p => p.down), apart = isButterfly();
	view.width = 0;
	for (const side of [up, down]) {
		const widths = side.map(p => p.width), sum = widths.reduce((a, b) => a + b, 0);
		const gap = widths.filter(Boolean).length > 1 ? Math.floor(sum / GAP_PARTS) : 0;
		let x = 0;
		for (const p of side) {
			p.x = x;
			x += p.width ? p.width + gap : 0;
		}
		view.width = Math.max(view.width, sum + gap);
	}
	view.width = view.width || 1;
	for (const p of view.panels)
		p.whole = apart ? p.width || 1 : view.width;
}

/* ---- layout; level 0 is the first node of the panel */

/* Of calls in order of time only the trunk folds, the frames with which all of them begin. */
const NEVER_FOLDED = 1 << KIND_THREAD | 1 << KIND_RANGE | 1 << KIND_MARKER | 1 << KIND_GPU | 1 << KIND_WAIT;
const mayFold = ({depth, fn, calls: inTime}, i) => depth[i] > 1 && !(inTime && depth[i] >= inTime.trunk) &&
	!(NEVER_FOLDED >> functions[fn[i]].kind & 1);

/* The child whose total is `least` or more, or 0. */
function childOf({end}, total, node, least) {
	const last = end.at(node);
	let left = total.at(node);
	for (let i = node + 1; i < last && left >= least; i = end.at(i)) {
		const width = total.at(i);
		if (width >= least)
			return i;
		left -= width;
	}
	return 0;
}

const foldKey = ({tree, node, below: ancestor}) => ancestor ? 0 :
	tree === shown.trees[0] || tree.twin === shown.trees[0] ? node : -node;
const isUnfolded = (tree, node) => unfolded.size > 0 && unfolded.has(foldKey({tree, node}));
const framesOf = ({tree: {depth}, node, last}) => depth[last] - depth[node] + 1;

/* In a diff a fold has one colour, and hides neither another change nor a change of own time. */
function sameChange(tree, a, b) {
	const {before, totalSamples, total} = tree;
	return !before || level(selfChange(tree, a)) === UNCHANGED && level(totalChange(tree, a)) === level(totalChange(tree, b)) &&
		!before.totalSamples[a] === !before.totalSamples[b] && !total.at(a) === !total.at(b);
}

/* {last, next} of a fold that begins with a node, or null. */
function foldAt(tree, total, node) {
	const width = total.at(node), least = width - Math.floor(width / FOLD_SLACK);
	let last = 0, next = node, child;
	while (mayFold(tree, next) && (child = childOf(tree, total, next, least)) && sameChange(tree, next, node)) {
		last = next;
		next = child;
	}
	return tree.depth[next] - tree.depth[node] < FOLD_LEAST ? null : {last, next};
}

/* Several layouts of one panel ask for the same folds: they are kept in `folds`. */
function foldFrom(folds, tree, total, node) {
	let fold = folds.get(node);
	if (fold === undefined)
		folds.set(node, fold = foldAt(tree, total, node));
	return fold;
}

/*
 * By level: x of the next box, its row, and the one node that is drawn if what lies beside it is in
 * a fold. `short` is the row if nothing was unfolded by hand. It decides which narrow frames are put
 * in runs, so that unfolding changes nothing elsewhere.
 */
class Levels {
	constructor(x) {
		this.x = [x];
		this.row = [0];
		this.short = [0];
		this.only = [0];
	}

	set(level, x, row, short, only) {
		this.x[level] = x;
		this.row[level] = row;
		this.short[level] = short;
		this.only[level] = only;
	}
}

/* limits: {minWidth, maxRows, most, folded, folds, freeRows, towerParts}; folds: of each panel */
function layOutPanel(result, p, limits) {
	const {tree, side, from, to, x: start, width: wide, whole, down} = p, folds = limits.folded && limits.folds.get(p);
	const {depth, end, parent, cuts} = tree, {total} = tree.sides[side], {minWidth, maxRows, freeRows} = limits;
	const top = depth[from], at = new Levels(start), removed = side === 1, widest = Math.floor(whole / RUN_PARTS);
	const least = row => row < freeRows ? minWidth :
		Math.max(minWidth, Math.floor(whole * (row - freeRows + 1) / limits.towerParts));
	const shared = down && view.panels.length > 1 && !isButterfly();
	const chain = new Map(); /* frames of unfolded folds: does the next one have the same short row? */

	if (!wide && view.panels.some(p => p.width))
		return true;
	for (let i = from; i < to;) {
		const level = depth[i] - top, only = at.only[level], first = i === from;
		if (only && only !== i) {
			i = end.at(i);
			continue;
		}
		const x = at.x[level], row = at.row[level], short = at.short[level], last = result[result.length - 1];
		const width = total.at(i), box = () => ({tree, node: i, end: 0, last: 0, level: row, x, width, whole, removed, down});
		at.x[level] += width;
		if (tree.calls && functions[tree.fn[i]].kind === KIND_SPACE) {
			if (width >= minWidth)
				result.push({...box(), space: true});
			i++;
		} else if (!width && i) {
			i = end.at(i);
		} else if (i && !first && (width < least(short) || row + 1 >= maxRows || cuts && cuts[i]) ||
		    first && to !== end.at(i) && width < minWidth) {
			const stop = end.at(i);
			/* What ends where this node begins, and is as deep, has the same parent. */
			if (last && last.end === i && last.level === row && last.removed === removed &&
			    last.tree === tree && depth[last.node] === depth[i] && last.width < widest) {
				last.end = stop;
				last.width += width;
			} else {
				result.push({...box(), end: stop});
			}
			i = stop;
		} else {
			const fold = folds && i && !first && !only && !chain.has(i) && foldFrom(folds, tree, total, i);
			const open = fold && isUnfolded(tree, i);
			for (let up = fold ? fold.next : i; up !== i; up = parent.at(up)) {
				if (open)
					chain.set(up, up < fold.last);
				else
					at.set(depth[up] - top, x, row + 1, short + 1, up);
			}
			if (fold && !open) {
				result.push({...box(), ...fold});
				i = fold.next;
				continue;
			}
			at.set(level + 1, x, row + 1, open || chain.get(i) ? short : short + 1, 0);
			/* Two trees, one above the other, share the root. */
			if (!shared || i)
				result.push(box());
			i++;
		}
		if (result.length > limits.most)
			return false;
	}
	return true;
}

/* Lays out panels with as many boxes as allowed: first drops narrow ones, then rows. */
function layOutWithin(panels, most, how) {
	const pixel = Math.floor(panels[0].whole / chart), limits = {minWidth: pixel || 1, maxRows: MAX_ROWS, most, ...how};

	for (;;) {
		const result = [];
		if (panels.every(p => layOutPanel(result, p, limits)))
			return {result, cut: limits.maxRows < MAX_ROWS};
		if (limits.minWidth < 16 * pixel)
			limits.minWidth += Math.floor(limits.minWidth / 2) + 1;
		else
			limits.maxRows -= Math.floor(limits.maxRows / 4) + 1;
	}
}

/* The frames below the one that is zoomed into. Most of a long list is folded. */
function ancestors({tree, whole, down}) {
	const above = [], {parent} = tree;
	for (let i = view.node; i;) {
		i = parent.at(i);
		above.push({tree, node: i, end: 0, last: 0, x: 0, width: whole, whole, faded: true, removed: !tree.total.at(i), down});
	}
	above.reverse();
	const nr = above.length - LOWEST_ANCESTORS - NEXT_ANCESTORS;
	if (nr >= FOLD_LEAST && !mode.unfold && !unfolded.has(0)) {
		const fold = above.slice(LOWEST_ANCESTORS, LOWEST_ANCESTORS + nr), last = fold[nr - 1].node;
		above.splice(LOWEST_ANCESTORS, nr, {...fold[0], last, next: above[LOWEST_ANCESTORS + nr].node, below: true});
	}
	if (above.length > MAX_ANCESTORS)
		above.splice(1, above.length - MAX_ANCESTORS);
	return above;
}

const heightOf = list => list.reduce((most, box) => Math.max(most, box.space ? 0 : box.level), 0) + 1;

/* If a picture is taller than a window it is folded, see output/flame/layout.c. */
function layOutPanels(panels, most) {
	const how = {folded: false, freeRows: FREE_ROWS, towerParts: TOWER_PARTS};
	const tall = () => heightOf(result) > FOLD_ROWS, inTime = panels[0].tree.calls;
	if (inTime)
		how.freeRows = Infinity;
	let {result, cut} = layOutWithin(panels, most, how);

	if (mode.unfold || !tall() && !cut)
		return result;
	how.folded = true;
	how.folds = new Map(panels.map(p => [p, new Map()]));
	how.freeRows = inTime ? Infinity : FOLD_FREE_ROWS;
	({result} = layOutWithin(panels, most, how));
	while (!inTime && tall() && how.towerParts > STEEPEST) {
		how.towerParts /= 2;
		({result} = layOutWithin(panels, most, how));
	}
	return result;
}

/* Each half of a butterfly is laid out separately: from row 0 up, and from row -1 down. */
function layOutHalf(p) {
	/*
	 * If this column has nothing in the view, only the ancestors that it does have are shown.
	 */
	const boxesOfHalf = ancestors(p).filter(box => !box.removed).concat(p.width ? layOutPanels([p], MAX_BOXES / 2) : []);
	const inner = boxesOfHalf.filter(box => box.faded).length;
	boxesOfHalf.forEach((box, i) => {
		const row = box.faded ? i : inner + box.level;
		box.row = p.down ? -1 - row : row;
	});
	return boxesOfHalf;
}

function layOutView() {
	placePanels();
	if (isButterfly())
		return view.panels.flatMap(layOutHalf);
	const result = layOutPanels(view.panels, MAX_BOXES), above = ancestors({...view.panels[0], tree: view.tree});
	const both = view.panels.some(p => !p.down) && view.panels.some(p => p.down);
	above.forEach((box, i) => { box.row = i; });
	for (const box of result)
		box.row = box.down && both ? -box.level : above.length + box.level;
	return above.concat(result);
}

const number = n => String(Math.round(n * 100) / 100);
const place = (x, whole) => MARGIN + Math.round(x / whole * chart * 100) / 100;

/*
 * Slim boxes, which are most boxes of a large picture, are drawn as polygons. The geometry of a
 * <rect> is part of its style, so browsers compute a style for each; polygons of one class share a
 * style.
 */
function rect(x, width, whole, y, height, name) {
	const from = place(x, whole), wide = place(x + width, whole) - from, slim = wide < SLIM;
	const e = document.createElementNS(NS, slim ? "polygon" : "rect");
	if (slim) {
		const left = number(from), right = number(from + wide), bottom = y + height;
		e.setAttribute("points", `${left},${y} ${right},${y} ${right},${bottom} ${left},${bottom}`);
		name = name ? name + " s" : "s";
	} else {
		e.setAttribute("x", number(from));
		e.setAttribute("y", y);
		e.setAttribute("width", number(wide));
		e.setAttribute("height", height);
	}
	if (name)
		e.setAttribute("class", name);
	return e;
}

/*
 * The colour of a node. Of a wait it is that of the reason: the frame nearest to the root, as in output/flame/color.c,
 * or where stacks are reversed the farthest.
 */
function colorOf({nr, fn, parent}, node) {
	const isWait = i => functions[fn[i]].color[0] === "w", isReason = i => !functions[fn[i]].isObject;
	let top = node;
	while (isWait(node) && isWait(parent.at(top)))
		top = parent.at(top);
	let reason = isReason(top) ? top : node;
	while (!isReason(reason) && reason + 1 < nr && parent.at(reason + 1) === reason && isWait(reason + 1))
		reason++;
	return functions[fn[isReason(reason) ? reason : top]].color;
}

/* The class of a box, the class of its cap, and whether the box is hatched. */
function lookOf({tree, node, removed}) {
	const f = functions[tree.fn[node]];
	if (!tree.before)
		return {box: colorOf(tree, node), cap: "c", hatched: f.kind === KIND_MARKER};
	const change = totalChange(tree, node), gone = !tree.total.at(node);
	const mark = removed ? gone ? "" : " way" : change.significant && !tree.before.totalSamples[node] ? " new" : "";
	return {box: "d" + level(change) + mark, cap: "c q" + level(selfChange(tree, node)), hatched: removed && gone};
}

/* A fold of frames below the one that is zoomed into has many changes, and so no colour. */
function lookOfFold(box) {
	if (!box.tree.before || box.below)
		return {box: "f"};
	const look = lookOf(box);
	return {box: look.box + " fd", cap: "c q" + UNCHANGED, hatched: look.hatched};
}

/* yOf: the y of a row. hanging: the rows go down from the root. */
let yOf = row => row, hanging = false;

function drawBox(box) {
	const {tree, node, removed, whole} = box, run = box.end !== 0, fold = box.last !== 0;
	const look = run ? {box: "m"} : fold ? lookOfFold(box) : lookOf(box);
	const left = place(box.x, whole);
	const y = yOf(box.row), below = hanging !== box.row < 0;
	const capY = below ? y + BOX : y - CAP, sums = tree.sides[removed ? 1 : 0];
	const own = run ? box.width : fold ? box.width - sums.total.at(box.next) : sums.self[node];
	const g = element("g", {class: look.box + (box.faded ? " faded" : "")});

	g.append(rect(box.x, box.width, whole, y, BOX));
	if (look.hatched)
		g.append(rect(box.x, box.width, whole, y, BOX, "h"));
	if (own && !box.faded)
		g.append(rect(box.x + box.width - own, own, whole, capY, CAP, look.cap || "c"));
	if (!run && !fold && tree.inlined[node])
		g.append(element("path", {class: "i", d: `M${number(left + 1)} ${y}v${BOX}`}));
	const space = place(box.x + box.width, whole) - left - 2 * PAD;
	const text = space <= columnWidth ? "" : (run ? labelOfRun : fold ? labelOfFold : label)(box, Math.floor(space / columnWidth));
	if (text)
		g.append(element("text", {x: number(left + PAD), y: y + 13, "aria-hidden": "true"}, text));
	g.setAttribute("role", "treeitem"); /* at once: the style sheet looks at roles */
	box.g = g;
	boxOf.set(g, box);
	return g;
}

/* Calls in order of time: the cap of a frame in the time in which it called nothing. */
function drawSpace({tree, node, x, width, whole, row}) {
	const above = tree.parent.at(node), g = element("g", {class: colorOf(tree, above), "aria-hidden": "true"}), y = yOf(row - 1);
	if (above)
		g.append(rect(x, width, whole, hanging ? y + BOX : y - CAP, CAP, "c"));
	return g;
}

const FEW_BOXES = 600;

/* What a screen reader says of each box. */
function describeBoxes(list) {
	for (const box of list) {
		box.g.setAttribute("aria-level", Math.abs(box.row) + 1);
		if (box !== focused)
			box.g.setAttribute("aria-label", nameOf(box));
	}
}

/*
 * Nothing of it is seen, so of many boxes it comes after the picture. A box that gets the focus before that is
 * described by focus().
 */
function describeSoon() {
	const drawn = boxes;
	if (drawn.length <= FEW_BOXES)
		return describeBoxes(drawn);
	requestAnimationFrame(() => setTimeout(() => drawn === boxes && describeBoxes(drawn)));
}

/*
 * Sets yOf for all rows and returns the lower end of the boxes. Caps need room beyond the outermost
 * rows.
 */
function placeRows() {
	const most = boxes.reduce((n, box) => Math.max(n, box.row), 0);
	const least = boxes.reduce((n, box) => Math.min(n, box.row), 0);
	const middle = row => isButterfly() && row >= 0 ? MIDDLE : 0;
	const top = headHeight() + CAP + 2, bottom = top + (most - least + 1) * ROW + middle(0);

	hanging = shown.flip;
	yOf = hanging ? row => top + (row - least) * ROW + middle(row) : row => bottom - (row - least + 1) * ROW - middle(row);
	return bottom + (least < 0 || hanging ? CAP : 0);
}

/* The line between the halves of a butterfly. */
const drawMiddle = () => isButterfly() ? [element("path", {class: "middle",
	d: `M${MARGIN} ${yOf(hanging ? 0 : -1) - (hanging ? 2.5 : 3.5)}h${number(chart)}`})] : [];

/* Folds the legend into lines if the picture is narrow; returns the height that this adds. */
function foldLegend(width) {
	const items = [...part("legend").children], place = (item, what) => Number(item.querySelector(what).getAttribute("x"));
	let left = 0, lines = 0;

	for (const item of items) {
		const start = place(item, "rect"), text = item.querySelector("text");
		if (start > MARGIN && place(item, "text") + text.textContent.length * columnWidth - left > width) {
			left = start - MARGIN;
			lines++;
		}
		if (lines)
			item.setAttribute("transform", `translate(${-left} ${lines * ROW})`);
		else
			item.removeAttribute("transform");
	}
	return lines * ROW;
}

/* Folds the facts about the samples between words; returns the height that this adds. */
function foldFacts(width) {
	const e = part("facts"), room = Math.max(20, Math.floor((width - 2 * MARGIN) / columnWidth));
	const fold = line => line.match(/[^ ]+ ?/g).reduce((lines, word) => {
		const last = lines.length - 1;
		if (last >= 0 && (lines[last] + word).trimEnd().length <= room)
			lines[last] += word;
		else
			lines.push(word);
		return lines;
	}, []);

	factLines = factLines || (e.children.length ? [...e.children].map(line => line.textContent) : [e.textContent]);
	const lines = factLines.flatMap(fold);
	e.replaceChildren(...lines.map((line, i) => element("tspan", i ? {x: MARGIN, dy: DIFF_LINE} : {}, line)));
	return (lines.length - factLines.length) * DIFF_LINE;
}

function draw() {
	const width = svg.getBoundingClientRect().width || 1200, rootWas = boxes.length ? yOf(0) : NaN;

	chart = Math.max(100, width - 2 * MARGIN);
	const inTime = shown.trees[0].calls, kept = keptWhole(), all = kept ? kept.boxes : layOutView();
	boxes = inTime ? all.filter(box => !box.space) : all;
	let bottom = placeRows();
	boxOf = new WeakMap();
	if (kept)
		showKept(kept);
	else
		part("frames").replaceChildren(...drawMiddle(), ...inTime ? [drawAxis(bottom)] : [],
			...all.map(box => box.space ? drawSpace(box) : drawBox(box)));
	if (isWhole())
		keepWhole();
	bottom += inTime ? AXIS : 0;
	rows = new Map();
	for (const box of boxes) {
		if (!rows.has(box.row))
			rows.set(box.row, []);
		rows.get(box.row).push(box);
	}
	focused = hovered = null;
	const more = foldFacts(width);
	svg.setAttribute("height", bottom + foot + more + foldLegend(width));
	for (const name of ["facts", "legend"])
		part(name).setAttribute("transform",
			`translate(0 ${bottom - homeBase + (name === "legend" ? foot - homeFoot + more : 0)})`);
	onDrawn(width, yOf(0) - rootWas || 0);
	describeSoon();
}

function zoom(next) {
	scrollBefore = scrollPosition();
	if (isWhole())
		wholeScroll = scrollBefore;
	view = next;
	draw();
	if (isWhole())
		scrollBy(wholeScroll - scrollPosition());
	else
		showBase();
}

function open(box) {
	const {tree, node, end: run} = box, above = tree.parent.at(node);
	if (isTooFine(box))
		return whenAll(() => open(box), box);
	if (tree.calls)
		return openTime(box);
	if (box.last) {
		scrollBefore = scrollPosition();
		if (!unfolded.size && isWhole())
			wholeScroll = scrollBefore;
		unfolded.add(foldKey(box));
		draw();
		return keepState(true);
	}
	/*
	 * A partial tree must first be built further, unless that was done for the parent of the
	 * run.
	 */
	if (tree.partial && (!run || above !== view.node))
		zoom(viewInverted(tree, run ? above : node));
	else
		zoom(run ? viewOfRun(box) : viewOf(tree, node));
	keepState(true);
}
