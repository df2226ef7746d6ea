/*
 * Owns what a large tree has instead of arrays of parents, ends and totals, which would be most of the
 * memory of a page: three objects that compute these numbers when asked for one, with at(node), as of an
 * array. In depth-first order the depths alone tell where a subtree ends and which node is above another.
 * So that few nodes are looked at for that, the least depth of each block of 64 nodes is kept, the
 * least of each 64 blocks, and so on; and for totals the sum of all selves before each 16 nodes. A layout asks
 * for the same nodes several times, and the next layout mostly does, too: the latest answers are kept.
 */
const FAN_SHIFT = 6, FAN_LAST = (1 << FAN_SHIFT) - 1, SUM_SHIFT = 4, SUM_LAST = (1 << SUM_SHIFT) - 1, ANSWERS = 1 << 15;

/* For each block of numbers the least. */
function leastOf(numbers) {
	const {length} = numbers, least = new numbers.constructor(length + FAN_LAST >>> FAN_SHIFT);
	for (let i = 0, block = 0; i < length; block++) {
		let value = numbers[i];
		for (const to = Math.min(length, i + FAN_LAST + 1); i < to; i++)
			if (numbers[i] < value)
				value = numbers[i];
		least[block] = value;
	}
	return least;
}

/* The depths, then the least ones of blocks, of blocks of blocks, up to a list of one block. */
function levelsOf(depth) {
	const levels = [depth];
	while (levels[levels.length - 1].length > FAN_LAST + 1)
		levels.push(leastOf(levels[levels.length - 1]));
	return levels;
}

class Ends {
	constructor(levels) {
		Object.assign(this, {levels, asked: new Int32Array(ANSWERS).fill(-1), answers: new Uint32Array(ANSWERS)});
	}

	/* The next node that is not below the node. */
	at(node) {
		const {asked, answers} = this, slot = node & ANSWERS - 1;
		if (asked[slot] !== node) {
			answers[slot] = this.find(node + 1, this.levels[0][node]);
			asked[slot] = node;
		}
		return answers[slot];
	}

	/* The first node from `i` on that is no deeper than `deepest`, or the number of nodes. */
	find(i, deepest) {
		const {levels} = this;
		let list = levels[0], level = 0;
		for (;;) {
			const to = Math.min(list.length, (i | FAN_LAST) + 1);
			while (i < to && list[i] > deepest)
				i++;
			if (i < to)
				break;
			if (i === list.length)
				return levels[0].length;
			i >>>= FAN_SHIFT;
			list = levels[++level];
		}
		while (level) {
			list = levels[--level];
			i <<= FAN_SHIFT;
			while (list[i] > deepest)
				i++;
		}
		return i;
	}
}

class Parents {
	constructor(levels) {
		this.levels = levels;
	}

	/* The last node before it that is less deep; of the root the root. */
	at(node) {
		const {levels} = this, below = levels[0][node];
		let list = levels[0], level = 0, i = node - 1;
		if (!node)
			return 0;
		for (;;) {
			const first = i & ~FAN_LAST;
			while (i >= first && list[i] >= below)
				i--;
			if (i >= first)
				break;
			i = (first >>> FAN_SHIFT) - 1; /* there is one: the root is less deep than all others */
			list = levels[++level];
		}
		while (level) {
			list = levels[--level];
			i = i << FAN_SHIFT | FAN_LAST;
			while (list[i] >= below)
				i--;
		}
		return i;
	}
}

class Totals {
	constructor(self, ends) {
		const nr = (self.length >>> SUM_SHIFT) + 1, before = self instanceof Float64Array ? new Float64Array(nr) : new Uint32Array(nr);
		for (let block = 0, i = 0, sum = 0; block < nr; block++) {
			before[block] = sum;
			for (const to = Math.min(self.length, i + SUM_LAST + 1); i < to; i++)
				sum += self[i];
		}
		Object.assign(this, {self, ends, before, asked: new Int32Array(ANSWERS).fill(-1), answers: new Float64Array(ANSWERS)});
	}

	/* The sum of the selves of all nodes before `to`. */
	upTo(to) {
		const {self, before} = this;
		let sum = before[to >>> SUM_SHIFT];
		for (let i = to & ~SUM_LAST; i < to; i++)
			sum += self[i];
		return sum;
	}

	at(node) {
		const {asked, answers} = this, slot = node & ANSWERS - 1;
		if (asked[slot] !== node) {
			answers[slot] = this.sum(node, this.ends.at(node));
			asked[slot] = node;
		}
		return answers[slot];
	}

	/* The sum of the selves of nodes [from, to). */
	sum(from, to) {
		const {self} = this;
		if (to - from > SUM_LAST)
			return this.upTo(to) - this.upTo(from);
		let sum = 0;
		for (let i = from; i < to; i++)
			sum += self[i];
		return sum;
	}
}

/* As complete(), for a tree whose sums by function are known: those need all totals. */
function completeLarge(tree) {
	const levels = levelsOf(tree.depth), end = tree.end = new Ends(levels), {self, samples} = tree;
	tree.parent = new Parents(levels);
	return addUp(tree, new Totals(self, end), samples === self ? null : new Totals(samples, end));
}
