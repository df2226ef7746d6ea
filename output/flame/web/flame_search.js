/*
 * Owns the search: by name, module, file and kind of functions, and by their self or total. It
 * searches the whole tree, also frames too narrow to draw, and its sums count no time twice.
 */

const search = {text: "", marked: -1, hits: null, first: [], ranked: false, at: -1};

/* A capital in the pattern makes case matter. */
const patternOf = text => new RegExp(text, /[A-Z]/.test(text.replace(/\\./g, "")) ? "u" : "iu");

/* An unnamed function also has the kind that its place tells. */
const kindsOf = f => [KINDS[f.kind], ...KINDS[f.kind] === "unknown" && /^\[(jit|kernel)\]$/.test(f.name) ? [f.name.slice(1, -1)] : []];

/* Makes a test of functions from "mod:libc self>1% ^mem". Throws if an expression is not valid. */
function parseQuery(text, tree) {
	const tests = [], rest = [];
	for (const word of text.split(/(?<!\\) +/)) {
		const [, key, expression] = /^(mod|module|file|kind):(.*)$/.exec(word) || [];
		const [, column, sign, number] = /^(self|total)([<>])(\d+(?:\.\d*)?|\.\d+)%?$/.exec(word) || [];
		if (key) {
			const pattern = patternOf(expression);
			tests.push(f => key === "kind" ? kindsOf(f).some(kind => pattern.test(kind)) :
				pattern.test(key === "file" ? f.file : f.module));
		} else if (column) {
			const columns = withTwin(tree).map(t => [sumsOf(t).now[column], Number(number) / 100 * t.whole]);
			tests.push((f, i) => sign === ">" ? columns.some(([values, limit]) => values[i] > limit) :
				columns.every(([values, limit]) => values[i] < limit));
		} else if (word) {
			rest.push(word);
		}
	}
	if (rest.length || !tests.length) {
		const pattern = patternOf(rest.join(" "));
		tests.push(f => pattern.test(f.name));
	}
	return (f, i) => f.kind !== KIND_SPACE && tests.every(test => test(f, i));
}

/*
 * The hits are counted for blocks of nodes: a list of how many there are before each block. A large
 * tree has millions of nodes, most of them in blocks without a hit, which count() passes over.
 */
const BLOCK_SHIFT = 6, BLOCK = 1 << BLOCK_SHIFT;

function countBlocks({nr, fn}, matches) {
	const blocks = new Uint32Array((nr + BLOCK - 1 >>> BLOCK_SHIFT) + 1);
	for (let i = 0, b = 0, hits = 0; i < nr;) {
		for (const end = Math.min(nr, i + BLOCK); i < end; i++)
			hits += matches[fn[i]];
		blocks[++b] = hits;
	}
	return blocks;
}

const blocksOf = tree => search.hits && search.hits.get(tree) || countBlocks(tree, search.matches);

/* Is there a hit in [from, to)? */
function hasHit(tree, from, to) {
	const before = at => {
		const block = at >>> BLOCK_SHIFT, {fn} = tree;
		let hits = blocks[block];
		for (let i = block << BLOCK_SHIFT; i < at; i++)
			hits += search.matches[fn[i]];
		return hits;
	}, blocks = blocksOf(tree);
	return before(to) > before(from);
}

/* Sums of the matching frames in [from, to). A match within a match adds only to the self. */
function count(tree, from, to) {
	const {fn, end, self, total, before} = tree, {matches} = search, blocks = blocksOf(tree), met = new Uint8Array(functions.length);
	const sum = {all: 0, own: 0, allBefore: 0, ownBefore: 0, names: 0, first: []};
	let inside = 0;
	for (let next, i = from; i < to; i = next) {
		const block = i >>> BLOCK_SHIFT;
		next = Math.min(to, block + 1 << BLOCK_SHIFT);
		if (blocks[block] === blocks[block + 1])
			continue;
		for (; i < next; i++) {
			const f = fn[i];
			if (!matches[f])
				continue;
			sum.own += self[i];
			sum.names += 1 - met[f];
			met[f] = 1;
			if (before)
				sum.ownBefore += before.self[i];
			if (i < inside)
				continue;
			inside = end.at(i);
			sum.all += total.at(i);
			if (before)
				sum.allBefore += before.total.at(i);
			sum.first.push(i);
		}
	}
	return sum;
}

/* The matches in both columns of a butterfly. */
function describeTwins(tree, sum) {
	const parts = [tree, tree.twin].map(t => {
		const {all, own} = count(t, 0, t.nr), self = t.inverted ? "" : ` \u00b7 self ${percent(own, t.whole)}`;
		return `${t.metric.name} ${percent(all, t.whole)}${self}`;
	});
	return sum.names ? `${parts.join(" | ")} | ${sum.names} function${sum.names === 1 ? "" : "s"}` : "no match";
}

function describe(tree, sum) {
	if (isButterfly())
		return describeTwins(tree, sum);
	const text = (value, was) => !tree.before ? percent(value, tree.whole) : absolute ?
		`${amount(was)} \u2192 ${amount(value)}` : `${percent(was, tree.before.whole)} \u2192 ${percent(value, tree.whole)}`;
	if (!sum.names)
		return "no match";
	const own = tree.inverted ? "" : ` \u00b7 self ${text(sum.own, sum.ownBefore)}`;
	const {from, to} = view.panels[0], inView = !isWhole() && view.tree === tree ?
		` \u00b7 ${percent(count(tree, from, to).all, tree.total.at(view.node))} of this view` : "";
	return `${text(sum.all, sum.allBefore)}${own}${inView} \u00b7 ${sum.names} function${sum.names === 1 ? "" : "s"}`;
}

/* Repeats the search, by text or for the marked function, in the current tree. */
function refind() {
	const tree = shown.trees[0];
	let result = "", bad = false;
	search.hits = search.matches = null;
	search.first = [];
	search.ranked = false;
	search.at = -1;
	try {
		if (search.text) {
			const test = parseQuery(search.text, tree);
			search.matches = Uint8Array.from(functions, (f, i) => test(f, i) ? 1 : 0);
		} else if (search.marked >= 0) {
			search.matches = new Uint8Array(functions.length);
			search.matches[search.marked] = 1;
		}
	} catch (error) {
		bad = true;
		result = "not a regular expression";
	}
	if (search.matches) {
		search.matches[base.fn[0]] = 0;
		search.hits = new Map(shown.trees.filter(Boolean).map(t => [t, countBlocks(t, search.matches)]));
		const sum = count(tree, 0, tree.nr);
		search.first = sum.first;
		result = tree.calls ? describe(plain(), count(plain(), 0, plain().nr)) : describe(tree, sum);
	}
	head.input.classList.toggle("bad", bad);
	head.input.setAttribute("aria-invalid", String(bad));
	head.found.textContent = result || waitingText();
}

function find(text) {
	if (isReading())
		return text ? whenAll(() => find(head.input.value), "find") : forget("find");
	search.text = text;
	search.marked = -1;
	refind();
	showHits();
	onFound();
}

/* Highlights every frame of a function; called again it stops that. */
function mark(f) {
	if (isReading())
		return whenAll(() => mark(f));
	head.input.value = search.text = "";
	search.marked = search.marked === f ? -1 : f;
	refind();
	showHits();
	onFound();
}

/* Does a box contain a match? In a fold that is any frame that is not drawn above it. */
function isHit({tree, node, end, last, next, below: ancestor}) {
	if (!search.hits || !search.hits.has(tree))
		return false;
	if (ancestor)
		return chainOf(tree, node, last).some(i => search.matches[tree.fn[i]]);
	if (last)
		return hasHit(tree, node, next) || hasHit(tree, tree.end.at(next), tree.end.at(node));
	return hasHit(tree, node, end || node + 1);
}

/* The nodes from one to another above it. */
function chainOf({parent}, node, last) {
	const chain = [last];
	while (chain[0] !== node)
		chain.unshift(parent.at(chain[0]));
	return chain;
}

function showHits() {
	const {classList} = part("frames");
	if (!search.hits && !classList.contains("searching"))
		return;
	classList.toggle("searching", search.hits !== null);
	for (const box of boxes)
		box.g.classList.toggle("hit", Boolean(isHit(box)));
}

/* The box that shows a node, or of which it is a part. */
function holderOf(tree, node) {
	const {end} = tree, inside = (i, to) => node >= i && node < to;
	return boxes.find(box => box.tree === tree && (box.end ? inside(box.node, box.end) : box.last ?
		inside(box.node, end.at(box.node)) && !inside(box.next, end.at(box.next)) : box.node === node));
}

/*
 * Goes to the next match that is not within another, the most expensive first. If it is not drawn by
 * itself, zooms or unfolds to show it, or else goes to the box that holds it.
 */
function step(by, zooms) {
	if (isReading())
		return whenAll(() => step(by, zooms));
	const n = search.first.length, tree = shown.trees[0], sum = i => withTwin(tree).reduce((all, t) => all + t.total.at(i), 0);
	if (!n)
		return;
	if (!search.ranked)
		search.first.sort((a, b) => sum(b) - sum(a) || a - b);
	search.ranked = true;
	search.at = search.at < 0 ? (by > 0 ? 0 : n - 1) : (search.at + by + n) % n;
	const node = search.first[search.at], {from, to} = view.panels[0], of = withTwin(tree);
	const at = () => of.map(t => holderOf(t, node)).find(box => box && !box.end && !box.last) ||
		of.map(t => holderOf(t, node)).find(Boolean);
	if (view.tree !== tree || node < from || node >= to)
		zoom(wholeView());
	for (let i = 0; zooms && !tree.calls && i < 2 && at() && (at().end || at().last); i++) {
		if (at().last)
			open(at());
		else
			zoom(viewOf(tree, node));
	}
	focus(at());
	if (at() && (at().end || at().last))
		head.lines[0].textContent = fitLines([`${functions[tree.fn[node]].name} is in this box`],
			Math.floor(chart / columnWidth), 1)[0];
}
