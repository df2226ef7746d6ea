// Functions that page.bats puts in front of its tests.
const press = (selector, text) => page.eval(`(() => {
	const e = [...document.querySelectorAll(${JSON.stringify(selector)})].find(e => ${text === undefined} || e.cells[0].title === ${JSON.stringify(text || "")});
	e.click();
})()`);
const rows = () => page.eval(`[...document.querySelectorAll("tbody tr")].map(r => [...r.cells].map((c, i) => i ? c.textContent : c.title))`);
const width = () => page.eval(`document.querySelector("svg.sprof").getBoundingClientRect().width`);
const search = async text => {
	await page.key("Escape");
	await page.key("/");
	await page.type(text);
	return page.found();
};
const until = async condition => {
	for (const end = Date.now() + 10000; !await page.eval(condition);)
		if (Date.now() > end)
			throw new Error("never came true: " + condition);
};
// Checks that the caps of each half cover the whole width and overlap no box.
const tiles = async () => {
	const bad = await page.eval(`(() => {
		const box = r => r.getBoundingClientRect(), all = [...document.querySelectorAll(".frames g > :is(rect, polygon)")];
		const caps = all.filter(r => r.classList.contains("c")).map(box), root = all[0] && Math.max(...all.map(r => box(r).right));
		const boxes = all.filter(r => !r.classList.contains("c") && !r.classList.contains("h")).map(box);
		const whole = document.querySelector("svg.sprof").getBoundingClientRect().width - 20;
		const sum = caps.reduce((n, c) => n + c.width, 0), halves = Math.round(sum / whole);
		if (halves < 1 || Math.abs(sum - halves * whole) > whole * .012)
			return "caps are " + sum + " of " + whole;
		for (const c of caps)
			for (const b of boxes)
				if (c.left + .1 < b.right && b.left + .1 < c.right && c.top + 1 < b.bottom && b.top + 1 < c.bottom)
					return "a cap lies on a box: " + JSON.stringify([c, b]);
		return "";
	})()`);
	assert.strictEqual(bad, "");
};
