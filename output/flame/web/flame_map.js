/*
 * Owns the overview: while zoomed, a small picture of the whole stands in the head and shows which
 * part of it is in view. A click in it goes to the frame there. The boxes of the whole are kept for
 * that, and their elements, so that zooming out has less to do.
 */

const MAP_WIDTH = 176, NARROW_MAP = 88, MAP_ROW = 4; /* px */
const overview = {g: null, boxes: null, panels: null, tree: null, drawn: null};

/* The room that the map takes from the lines at its left. */
const mapRoom = () => overview.g ? mapWidth() + 2 * PAD : 0;
const mapWidth = () => searchRow() ? NARROW_MAP : MAP_WIDTH;

/* What the elements of boxes depend on, but for the tree. */
const drawingKey = () => [chart, columnWidth, shown.flip, mode.unfold, ...unfolded].join();

/* Keeps the boxes of the whole, which the map shows later, and what was drawn for them. */
function keepWhole() {
	overview.tree = shown.trees[0];
	overview.boxes = boxes;
	overview.panels = view.panels;
	overview.drawn = {boxes, elements: [...part("frames").children], key: drawingKey()};
}

/* What was kept of the whole, if that is to be shown and would be drawn in the same way; or null. */
function keptWhole() {
	const {tree, drawn} = overview, isSame = isWhole() && tree === shown.trees[0] && !tree.calls &&
		drawn && drawn.boxes === overview.boxes && drawn.key === drawingKey();
	return isSame ? drawn : null;
}

function showKept({boxes: kept, elements}) {
	const frames = part("frames");
	placePanels();
	frames.replaceChildren(...elements);
	for (const e of frames.querySelectorAll(".hit, .focus, .twin, [tabindex]")) {
		e.classList.remove("hit", "focus", "twin");
		e.removeAttribute("tabindex");
	}
	for (const box of kept)
		boxOf.set(box.g, box);
}

/* A page may be opened with a zoom in its address, or build a tree further: lays out the whole. */
function needWhole() {
	if (overview.tree === shown.trees[0])
		return;
	const was = view;
	view = wholeView();
	overview.boxes = layOutView();
	overview.panels = view.panels;
	overview.tree = shown.trees[0];
	view = was;
}

/* How far from the left edge of the whole a frame begins. */
function offsetOf({parent, end}, total, node) {
	let x = 0;
	for (let i = node; i; i = parent.at(i))
		for (let before = parent.at(i) + 1; before < i; before = end.at(before))
			x += total.at(before);
	return x;
}

/* The row in which the whole shows a node, or the box that contains it. */
function rowOf(tree, node) {
	let row = 0;
	for (const box of overview.boxes)
		if (box.tree === tree && box.node <= node && node < (box.end || tree.end.at(box.node)) && Math.abs(box.row) > Math.abs(row))
			row = box.row;
	return row;
}

/* The geometry of the map: x and width of a part, and y of a row. */
function mapScale() {
	const wide = mapWidth(), left = MARGIN + chart - wide, top = 33 + searchRow(), tall = headHeight() - 5 - top;
	const most = overview.boxes.reduce((n, box) => Math.max(n, box.row), 0), least = overview.boxes.reduce((n, box) => Math.min(n, box.row), 0);
	const high = Math.min(MAP_ROW, tall / (most - least + 1)), bottom = top + tall;
	return {left, top, wide, tall, high, across: (x, whole) => left + x / whole * wide,
		yOf: row => shown.flip ? top + (row - least) * high : bottom - (row - least + 1) * high, most, least};
}

/* One path for all boxes of a class: there may be thousands. */
function drawMapBoxes(scale) {
	const paths = new Map();
	for (const box of overview.boxes) {
		const from = scale.across(box.x, box.whole), width = box.width / box.whole * scale.wide;
		if (width < .4)
			continue;
		const name = box.end ? "m" : box.last ? "f" : lookOf(box).box;
		paths.set(name, (paths.get(name) || "") + `M${number(from)} ${number(scale.yOf(box.row))}h${number(width)}v${number(scale.high)}h${number(-width)}z`);
	}
	return [...paths].map(([name, d]) => {
		const g = element("g", {class: name});
		g.append(element("path", {d}));
		return g;
	});
}

/* Frames the parts of the whole that are in view. */
function drawMapParts(scale) {
	return view.panels.filter(p => p.width).map(p => {
		const home = overview.panels.find(({tree, side}) => tree === p.tree && side === p.side);
		if (!home)
			return null;
		const x = scale.across(home.x + offsetOf(p.tree, p.tree.sides[p.side].total, p.from), home.whole);
		const width = Math.max(3, p.width / home.whole * scale.wide), row = rowOf(p.tree, p.from), y = scale.yOf(row);
		const up = row < 0 === shown.flip, ends = [scale.yOf(scale.most), scale.yOf(scale.least)];
		const from = up ? Math.min(...ends) : y, to = (up ? y : Math.max(...ends)) + scale.high;
		return element("rect", {class: "part", x: number(Math.min(x, scale.left + scale.wide - width)), width: number(width),
			y: number(from), height: number(Math.max(3, to - from))});
	}).filter(Boolean);
}

/* Draws the map anew, or takes it away where nothing is zoomed. */
function showMap() {
	if (overview.g)
		overview.g.remove();
	overview.g = null;
	if (isWhole())
		return;
	needWhole();
	const scale = mapScale();
	overview.scale = scale;
	overview.g = element("g", {class: "map", "aria-hidden": "true"});
	overview.g.append(element("rect", {class: "ground", x: scale.left - PAD, y: scale.top - 3, width: scale.wide + PAD, height: scale.tall + 6}),
		...drawMapBoxes(scale), ...drawMapParts(scale));
	head.g.append(overview.g);
	head.g.append(head.help);
}

function onMapClick(event) {
	const {left, top} = svg.getBoundingClientRect(), pinned = head.g.transform.baseVal.consolidate();
	const x = event.clientX - left, y = event.clientY - top - (pinned ? pinned.matrix.f : 0), {scale} = overview;
	const box = overview.boxes.find(b => scale.across(b.x, b.whole) <= x && x < scale.across(b.x + b.width, b.whole) &&
		scale.yOf(b.row) <= y && y < scale.yOf(b.row) + scale.high);
	if (box && isTooFine(box))
		return whenAll(() => zoomFromMap(box), box);
	zoomFromMap(box);
}

function zoomFromMap(box) {
	zoom(!box || !box.node ? wholeView() : box.end ? viewOfRun(box) : viewOf(box.tree, box.node));
	keepState(true);
}
