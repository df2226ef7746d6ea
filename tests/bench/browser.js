// Times a picture in Chromium, as the body of a test of tests/browser/page.js: prints lines of
// "name value", in ms and MB. Times run from a request until the next frame is due; memory is the
// renderer's when the picture came alive, and again at the end.
const fs = process.getBuiltinModule("fs");
const pause = ms => new Promise(resolve => setTimeout(resolve, ms));
const read = path => {
	try {
		return fs.readFileSync(path, "utf8");
	} catch (error) {
		return "";
	}
};
// Every picture has its own browser: this finds the largest renderer below this process.
const parentOf = pid => Number((/^PPid:\s+(\d+)/m.exec(read(`/proc/${pid}/status`)) || [])[1] || 0);
const isOurs = pid => pid === process.pid || pid > 1 && isOurs(parentOf(pid));
const memory = () => Math.max(...fs.readdirSync("/proc").filter(pid => /^\d+$/.test(pid) &&
	read(`/proc/${pid}/cmdline`).includes("--type=renderer") && isOurs(Number(pid)))
	.map(pid => Math.round(Number(/^VmRSS:\s+(\d+)/m.exec(read(`/proc/${pid}/status`))[1]) / 1000)));
const until = async expression => {
	for (;;) {
		// A page that is being left cannot answer.
		const value = await page.eval(expression).catch(() => null);
		if (value)
			return value;
		await pause(20);
	}
};
const note = (name, value) => console.log(name, Math.round(value));
const timed = async (name, what) => note(name, await page.eval(`(async () => {
	const begin = performance.now();
	${what};
	await new Promise(resolve => requestAnimationFrame(() => {
		const channel = new MessageChannel();
		channel.port1.onmessage = resolve;
		channel.port2.postMessage(0);
	}));
	return performance.now() - begin;
})()`));
const type = text => `(() => {
	const input = document.querySelector("input");
	input.value = "${text}";
	input.dispatchEvent(new Event("input"));
})()`;

note("memory", memory());
for (let i = 0; i < 7; i++) {
	await page.eval(`{
		const width = g => g.querySelector("rect, polygon").getBBox().width;
		window.chosen = [...document.querySelectorAll(".frames g:not(.m):not(.faded)")]
			.sort((a, b) => width(b) - width(a))[${3 + 2 * i}];
	}`);
	await timed("zoom", `chosen.dispatchEvent(new MouseEvent("click", {bubbles: true}))`);
	await timed("unzoom", `document.dispatchEvent(new KeyboardEvent("keydown", {key: "0", bubbles: true}))`);
	await timed("search", type(`module_${i + 11}`));
	await page.eval(type(""));
}
note("memory_after", memory());
await page.send("Page.addScriptToEvaluateOnNewDocument", {source:
	`document.addEventListener("sprof-ready", () => { window.readyAt = performance.now(); }, true)`});
for (let i = 0; i < 5; i++) {
	const origin = await page.eval("performance.timeOrigin");
	await page.send("Page.reload");
	note("ready", await until(`performance.timeOrigin !== ${origin} && window.readyAt`));
	await pause(300);
}
