// Times a picture in Chromium, as the body of a test of tests/browser/page.js: prints lines of
// "name value", in ms and MB. Times run from a request until the next frame is due: "ready" until
// the picture is drawn and answers, "all" until all nodes of the tree are there. "pause" is the
// longest time between the two in which the page did not answer. Memory is the renderer's when all
// nodes are there, and again at the end.
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

await until(`!document.querySelector("svg.sprof.reading")`);
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
await page.send("Page.addScriptToEvaluateOnNewDocument", {source: `
	document.addEventListener("sprof-ready", () => {
		const {port1, port2} = new MessageChannel();
		let last = window.readyAt = performance.now();
		window.longest = 0;
		port1.onmessage = () => {
			const now = performance.now();
			window.longest = Math.max(window.longest, now - last);
			last = now;
			if (!window.allAt)
				port2.postMessage(0);
		};
		port2.postMessage(0);
	}, true);
	document.addEventListener("sprof-all", () => { window.allAt = performance.now(); }, true);`});
for (let i = 0; i < 5; i++) {
	const origin = await page.eval("performance.timeOrigin");
	await page.send("Page.reload");
	note("all", await until(`performance.timeOrigin !== ${origin} && window.allAt`));
	note("ready", await page.eval("window.readyAt"));
	note("pause", await page.eval("window.longest"));
	await pause(300);
}
