/*
 * Owns the texts about frames: numbers, changes, labels and the lines of tooltips. It repeats the
 * formulas of output/text/number.c, output/tree/diff_change.c and label.c and
 * output/report/diff_text.c, so that a picture says the same with and without its script. A browser
 * test compares them.
 */

function percent(value, whole) {
	const hundredths = whole ? Math.round(value * 10000 / whole) : 0;
	if (!hundredths)
		return value ? "<0.01%" : "0%";
	if (hundredths < 100)
		return "0." + String(hundredths).padStart(2, "0") + "%";
	if (hundredths < 995)
		return (Math.floor((hundredths + 5) / 10) / 10).toFixed(1) + "%";
	return Math.floor((hundredths + 50) / 100) + "%";
}

function scaled(n, units) {
	let unit = 0;
	while (unit < units.length - 1 && n >= 999.5) {
		n /= 1000;
		unit++;
	}
	if (!unit)
		return Math.round(n) + " " + units[0];
	return n.toFixed(n < 9.995 ? 2 : n < 99.95 ? 1 : 0) + " " + units[unit];
}

const time = ns => scaled(ns, ["ns", "us", "ms", "s"]);
const bytes = n => scaled(n, ["B", "kB", "MB", "GB", "TB", "PB"]);
const amount = (value, {measure} = metric) => measure ? measure(value) : String(Math.round(value));
const fraction = x => percent(Math.round(x * 1e9), 1e9);
const share = (t, what, n) => `${what} ${percent(n, t.whole)}` + (t.metric.measure ? `, ${t.metric.measure(n)}` : "");

/* Half the width of the 95 % confidence interval of a number of samples. */
function margin(n, all) {
	return n >= all ? 0 : Math.round(1.96 * Math.sqrt(n * (1 - n / all)));
}

/* ---- changes; amounts are {value, samples} */

/* Of samples that weigh differently, as in output/tree/diff_change.c. */
function varianceOfShare({value, samples: n}, {whole, wholeSamples}, step) {
	const s = whole ? value / whole : 0, unit = whole ? step / whole : 0;
	return ((1 - s) * (1 - s) * (n + 1) + s * s * (wholeSamples - n + 1)) * unit * unit;
}

function compare(was, is) {
	const b = wholes.before, whole = b.whole || wholes.whole, part = (x, all) => all ? x / all : 0;
	const c = {was, is, before: part(was.value, whole), after: part(is.value, absolute ? whole : wholes.whole)};
	if (steps && absolute) {
		const {before: x, after: y} = steps;
		c.margin = whole ? 1.96 * Math.sqrt((was.samples + 1) * x * x + (is.samples + 1) * y * y) / whole : 0;
	} else if (absolute) {
		const x = part(b.whole, b.wholeSamples), y = part(wholes.whole, wholes.wholeSamples);
		c.margin = whole ? 1.96 * Math.sqrt((was.samples + 1) * x * x + (is.samples + 1) * y * y) / whole : 0;
	} else if (steps) {
		c.margin = 1.96 * Math.sqrt(varianceOfShare(was, b, steps.before) + varianceOfShare(is, wholes, steps.after));
	} else {
		const n = b.wholeSamples + 2, m = wholes.wholeSamples + 2;
		const p = (was.samples + 1) / n, q = (is.samples + 1) / m;
		c.margin = 1.96 * Math.sqrt(p * (1 - p) / n + q * (1 - q) / m);
	}
	if (metric.exact)
		c.margin = 0;
	c.change = c.after - c.before;
	c.significant = Math.abs(c.change) > c.margin;
	return c;
}

const totalChange = (t, i) => compare({value: t.before.total.at(i), samples: t.before.totalSamples.at(i)},
	{value: t.total.at(i), samples: t.totalSamples.at(i)});
const selfChange = (t, i) => compare({value: t.before.self[i], samples: t.before.samples[i]},
	{value: t.self[i], samples: t.samples[i]});
const functionChange = (t, f, key) => {
	const s = sumsOf(t);
	return compare({value: s.before[key][f], samples: s.beforeSamples[key][f]},
		{value: s.now[key][f], samples: s.samples[key][f]});
};

const UNCHANGED = 4;

function level(c) {
	const size = Math.abs(c.change), n = size >= .03 ? 4 : size >= .01 ? 3 : size >= .003 ? 2 : 1;
	return UNCHANGED + (c.significant ? c.change < 0 ? -n : n : 0);
}

const wholeBefore = () => wholes.before.whole || wholes.whole;
const changeText = c => (c.change < 0 ? "-" : "+") +
	(absolute ? amount(Math.abs(c.change) * wholeBefore()) : fraction(Math.abs(c.change)));
const amountText = (x, {value}) => absolute ? amount(value) : fraction(x);
const marginText = c => absolute ? amount(c.margin * wholeBefore()) : fraction(c.margin);

function sentence(what, c) {
	if (!c.was.samples && !c.is.samples)
		return `${what} ${amountText(c.before, c.was)}`;
	return `${what} ${amountText(c.before, c.was)} \u2192 ${amountText(c.after, c.is)} (${changeText(c)}` +
		(metric.exact ? "" : (c.significant ? " " : ", within the error of ") + `\u00b1 ${marginText(c)}`) + ")";
}

const WIDE = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;
const MARK = /[\u0300-\u036f]/;
const columnsOf = c => MARK.test(c) ? 0 : WIDE.test(c) ? 2 : 1;

function columns(text) {
	if (/^[\x20-\x7e\xb7\u2026]*$/.test(text))
		return text.length;
	let n = 0;
	for (const c of text)
		n += columnsOf(c);
	return n;
}

/* The first of these characters that fit in `limit` columns. */
function fitting(characters, limit) {
	let used = 0, i = 0;
	while (i < characters.length && (used += columnsOf(characters[i])) <= limit)
		i++;
	return characters.slice(0, i);
}

function elide(text, limit) {
	if (columns(text) <= limit)
		return text;
	const characters = Array.from(text);
	const tail = fitting(characters.slice().reverse(), Math.floor((limit - 1) / 2)).reverse();
	return fitting(characters, Math.floor(limit / 2)).join("") + "\u2026" + tail.join("");
}

/* Folds a text into lines, between words if possible. What does not fit in the last one is cut off. */
function wrap(text, limit, most) {
	const lines = [];
	let rest = Array.from(text);
	while (rest.length) {
		if (lines.length === most) {
			lines[most - 1] = fitting(Array.from(lines[most - 1]), limit - 1).join("") + "\u2026";
			break;
		}
		let part = fitting(rest, limit);
		const space = part.length < rest.length ? part.lastIndexOf(" ") : 0;
		if (space > part.length / 2)
			part = part.slice(0, space + 1);
		lines.push(part.join("").replace(/ \u00b7 ?$/, ""));
		rest = rest.slice(Math.max(1, part.length));
		if (rest[0] === "\u00b7" && rest[1] === " ") /* a separator neither ends nor begins a line */
			rest = rest.slice(2);
	}
	return lines.length ? lines : [""];
}

/* Drops the template arguments of a name that is too long. They say least. */
function withoutArguments(name, limit) {
	for (let before = ""; columns(name) > limit && name !== before;) {
		before = name;
		name = name.replace(/(?<=\w)<[^<>]{2,}>/, "<\u2026>").replace(/(?<=\w)<(<\u2026>|[^<>])*>/, m => m === "<\u2026>" ? m : "<\u2026>");
	}
	return name;
}

/* Fits texts, of which the first is a name, into so many lines. */
function fitLines(texts, limit, most) {
	const result = [];
	texts.forEach((text, i) => {
		const left = texts.length - 1 - i, room = Math.max(1, most - result.length - left);
		result.push(...wrap(i ? text : withoutArguments(text, limit * room), limit, room));
	});
	return result.slice(0, most);
}

const FEWEST = 8; /* columns of a name that say anything */

/* "…call_main" for "__libc_start_call_main": names of one program differ at their end. */
function endOf(text, limit) {
	const all = Array.from(text), joins = c => "_.:/+-".includes(c);
	let tail = fitting(all.slice().reverse(), limit - 1).reverse();
	const at = tail.findIndex((c, i) => {
		const before = all[all.length - tail.length + i - 1];
		return before && joins(before) && !joins(c) && !(before === "." && /[0-9]/.test(c)) && columns(tail.slice(i).join("")) >= FEWEST;
	});
	if (at > 0)
		tail = tail.slice(at);
	return "\u2026" + tail.join("");
}

/* The texts after the name of a label: total and self. */
function numbersOf({tree: t, node: i, removed}) {
	if (t.calls) /* a column is as wide as it is, however much of it the thread ran */
		return [t.calls.column && i ? "" : " " + time(t.total.at(i) * 1000), ""];
	if (t.inverted)
		return [" " + percent(t.total.at(i), t.whole), ""];
	if (!isDiff || !t.before)
		return [" " + percent(t.total.at(i), t.whole), t.self[i] ? " \u00b7 self " + percent(t.self[i], t.whole) : ""];
	const gone = removed && !t.total.at(i);
	const text = c => gone ? changeText(c) :
		amountText(c.after, c.is) + (c.significant ? " " + changeText(c) : "");
	if (removed && !i)
		return [" " + changeText({change: -t.sides[1].total.at(0) / t.unit /
			(absolute || !t.whole ? wholeBefore() : t.whole)}), ""];
	if (removed && !gone)
		return ["", ""];
	const own = selfChange(t, i);
	return [" " + text(totalChange(t, i)), (gone ? own.before > 0 : t.self[i]) ? " \u00b7 self " + text(own) : ""];
}

const REMOVED = {name: "removed", short: "removed"};

/* The label of the root of a half: its column and total. */
const scaleText = ({metric: m, total}) => `${m.title} ${amount(total.at(0), m)}`;

function label(box, limit) {
	if (!box.node && isButterfly())
		return elide(scaleText(box.tree), limit);
	if (!box.node && box.tree.calls)
		return elide(box.tree.calls.thread + numbersOf(box)[0], limit);
	const f = box.removed && !box.node ? REMOVED : functions[box.tree.fn[box.node]];
	const size = columns(f.short);
	if (size > limit)
		return limit > FEWEST ? endOf(f.short, limit) : "";
	const [all, own] = numbersOf(box);
	if (columns(f.name) + all.length + own.length <= limit)
		return f.name + all + own;
	if (size + all.length + own.length <= limit)
		return f.short + all + own;
	return size + all.length <= limit ? f.short + all : f.short;
}

function whereIs(t, i) {
	const f = functions[t.fn[i]];
	return [f.module, f.file && `${f.file}:${f.line}`, t.inlined[i] && "inlined"].filter(Boolean);
}

const changeOf = (t, i) => (!t.totalSamples.at(i) ? "removed: " : t.before.totalSamples.at(i) ? "" : "new: ") +
	sentence("total", totalChange(t, i));

/* Three lines: the name, the changes of this frame, and those of its function with its place. */
function linesOfDiff({tree: t, node: i}) {
	const f = t.fn[i], frames = sumsOf(t).frames[f];
	const all = frames > 1 ? [`all ${frames} frames of it: ` + sentence("total", functionChange(t, f, "total")) +
		" \u00b7 " + sentence("self", functionChange(t, f, "self"))] : [];
	return [functions[f].name, changeOf(t, i) + " \u00b7 " +
		sentence("self", selfChange(t, i)), all.concat(whereIs(t, i)).join(" \u00b7 ")];
}

const countText = ({metric: {exact, events}, totalSamples, wholeSamples}, i) =>
	`${totalSamples.at(i)}${exact ? "" : ` \u00b1 ${margin(totalSamples.at(i), wholeSamples)}`} ${events}`;
const sumsText = (t, i) => t.inverted ? share(t, i ? t.of(i) : "total", t.total.at(i)) + ` \u00b7 ${countText(t, i)}` :
	share(t, "total", t.total.at(i)) + ` (${percent(t.total.at(i), t.total.at(t.parent.at(i)))} of its caller) \u00b7 ` +
	share(t, "self", t.self[i]) + ` \u00b7 ${countText(t, i)}`;

/* The sums of a path in both columns. */
function linesOfTwins({node: i}) {
	const [t] = shown.trees, sums = withTwin(t).map(one => `${one.metric.title}: ` +
		(one.total.at(i) ? sumsText(one, i) : "none"));
	return [[functions[t.fn[i]].name, ...whereIs(t, i)].join(" \u00b7 "), ...sums];
}

/* How many frames a run stands for. */
const framesOfRun = ({tree: {ordinal}, node, end}) => ordinal ? ordinal[end] - ordinal[node] : end - node;

function rowsOfRun({tree: {depth, deepest}, node, end}) {
	let most = depth[node];
	for (let i = node; i < end; i++)
		most = Math.max(most, depth[i], deepest ? deepest[i] : 0);
	return most - depth[node] + 1;
}

/* "33635 frames merged", or as much of it as fits. */
function labelOfRun(box, columns) {
	const n = framesOfRun(box);
	return [`${n} frame${n === 1 ? "" : "s"} merged`, `${n} merged`].find(text => text.length <= columns) || "";
}

/* "+17 frames, _start … run_mod 39%", or as much of it as fits. */
function labelOfFold(box, limit) {
	const {tree: t, node, last, width} = box, n = framesOf(box);
	const all = box.below ? ` ${percent(width / t.unit, t.whole)}` : numbersOf(box)[0];
	const [from, to] = [node, last].map(i => functions[t.fn[i]].short);
	return [`+${n} frames, ${from} \u2026 ${to}${all}`, `+${n} frames${all}`, `+${n} frames`, `+${n}`].find(text =>
		columns(text) <= limit) || "";
}

/* One line about a box for a screen reader; the box with the focus has all lines. */
const nameOf = box => box.end ? labelOfRun(box, Infinity) : box.last ? labelOfFold(box, Infinity) : label(box, Infinity);

const FOLD_NAMES = 40;

function linesOfFold(box) {
	const {tree: t, node, last} = box, names = [];
	const sums = box.below ? "" : isDiff && t.before ? changeOf(t, node) : share(t, "total", box.width / t.unit);
	for (let i = last; names.push(functions[t.fn[i]].short) < FOLD_NAMES && i !== node;)
		i = t.parent.at(i);
	return [`${framesOf(box)} frames folded: ${names.reverse().join(" \u203a ")}`,
		[sums, "click to unfold"].filter(Boolean).join(" \u00b7 ")];
}

function linesOf(box) {
	const {tree: t, node: i} = box;
	if (t.calls)
		return linesOfCalls(box);
	if (box.last)
		return linesOfFold(box);
	if (box.end) {
		const n = framesOfRun(box), rows = rowsOfRun(box);
		return [`${n} frame${n === 1 ? "" : "s"} in ${rows} row${rows === 1 ? "" : "s"} merged into one box`,
			share(t, box.removed ? "removed" : "total", box.width / t.unit), "click to enlarge"];
	}
	if (isButterfly())
		return linesOfTwins(box);
	if (isDiff && t.before)
		return linesOfDiff(box);
	const f = t.fn[i];
	if (t.inverted)
		return [functions[f].name, sumsText(t, i), whereIs(t, i).join(" \u00b7 ")];
	const s = sumsOf(t), all = s.frames[f] > 1 ? [`all ${s.frames[f]} frames of it: ` +
		share(t, "total", s.now.total[f]) + " \u00b7 " + share(t, "self", s.now.self[f])] : [];
	return [functions[f].name, sumsText(t, i), all.concat(whereIs(t, i)).join(" \u00b7 ")];
}
