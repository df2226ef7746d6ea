// What large.bats and large_pages.bats put in front of their tests, behind page_helpers.js. The page is loaded again and
// reads its nodes only when the test calls readOn().
await page.send("Page.addScriptToEvaluateOnNewDocument", {source: `{
	const post = MessagePort.prototype.postMessage, held = [];
	window.hold = () => {
		window.all = false;
		MessagePort.prototype.postMessage = function (message) {
			held.push(() => post.call(this, message));
		};
	};
	hold();
	window.readOn = () => {
		MessagePort.prototype.postMessage = post;
		held.splice(0).forEach(f => f());
	};
	for (const name of ["ready", "all"])
		document.addEventListener("sprof-" + name, () => { window[name] = true; }, true);
}`});
await page.send("Page.reload");
// A page that is being left cannot answer.
const arrived = async name => {
	for (const end = Date.now() + 30000; !await page.eval("window." + name).catch(() => false);)
		assert(Date.now() < end, "never " + name);
};
await arrived("ready");
const READING = "reading all stacks \u2026";
// The words for screen readers come after the picture.
const frames = () => page.eval(`new Promise(resolve => requestAnimationFrame(() => setTimeout(() => setTimeout(resolve))))
	.then(() => document.querySelector(".frames").innerHTML)`);
const isReading = () => page.eval(`document.querySelector("svg.sprof.reading") !== null`);
const readOn = async () => {
	await page.eval("readOn()");
	await arrived("all");
	assert(!await isReading());
};
const again = async () => { // draws everything anew
	await page.key("v");
	await page.key("v");
};
// Clicks the merged box of which `size` says the most: it opens when its frames are there.
const mergedBoxOpens = async size => {
	const box = await page.eval(`(() => {
		const size = ${size};
		const r = [...document.querySelectorAll(".frames g.m rect")].sort((a, b) => size(b) - size(a))[0];
		r.scrollIntoView({block: "center"});
		const {x, y, width, height} = r.getBoundingClientRect();
		return {x: x + width / 2, y: y + height / 2};
	})()`);
	await page.mouse("mousePressed", box);
	await page.mouse("mouseReleased", box);
	assert.strictEqual(await page.found(), READING);
	await readOn();
	assert.match((await page.status()).join(), /zoomed: /);
	assert.match(await frames(), /aria-label="leaf\d/);
};
