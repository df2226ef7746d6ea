// Opens a file in headless Chromium and runs a test on it. It needs no npm package, as Chromium speaks its
// debugging protocol over two pipes: JSON messages that end with a NUL.
//
//	node page.js [--dark] [--no-script] [--static] [--width=1200] [--height=900] FILE <test.js
//
// --static: the file has no script of its own. The test is the body of an async function of (page, assert).
// Its failure, or an unexpected error or dialog of the page, ends this program with a message and status 1.
"use strict";
const assert = require("assert");
const {spawn} = require("child_process");
const fs = require("fs");
const os = require("os");
const path = require("path");

const options = {width: 1200, height: 900};
let file;
for (const arg of process.argv.slice(2)) {
	const [, name, value] = /^--([a-z-]+)=?(.*)$/.exec(arg) || [];
	if (name)
		options[name] = value || true;
	else
		file = path.resolve(arg);
}

const FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
	"--disable-background-networking", "--disable-component-update", "--disable-sync", "--remote-debugging-pipe",
	"--hide-scrollbars", "--force-color-profile=srgb"];

class Browser {
	constructor(profile) {
		this.process = spawn(process.env.CHROMIUM || "chromium", [...FLAGS, `--user-data-dir=${profile}`, "about:blank"],
			{stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"]});
		this.waiting = new Map();
		this.listeners = [];
		this.nextId = 1;
		let text = "";
		this.process.stdio[4].setEncoding("utf8").on("data", chunk => {
			const messages = (text + chunk).split("\0");
			text = messages.pop();
			messages.forEach(message => this.receive(JSON.parse(message)));
		});
	}

	receive(message) {
		const {id, error, result} = message;
		if (!id)
			return this.listeners.forEach(listener => listener(message));
		const {resolve, reject, method} = this.waiting.get(id);
		this.waiting.delete(id);
		return error ? reject(new Error(`${method}: ${error.message}`)) : resolve(result);
	}

	send(method, params = {}, sessionId) {
		const id = this.nextId++;
		this.process.stdio[3].write(JSON.stringify({id, method, params, sessionId}) + "\0");
		return new Promise((resolve, reject) => this.waiting.set(id, {resolve, reject, method}));
	}
}

// What must not happen in a page: errors, dialogs, requests.
function watch(browser, session, incidents) {
	browser.listeners.push(({method, params, sessionId}) => {
		if (sessionId !== session)
			return;
		if (method === "Runtime.exceptionThrown")
			incidents.push(params.exceptionDetails.exception?.description || params.exceptionDetails.text);
		else if (method === "Runtime.consoleAPICalled")
			incidents.push("console: " + params.args.map(a => a.value).join(" "));
		else if (method === "Log.entryAdded" && params.entry.level === "error")
			incidents.push("log: " + params.entry.text);
		else if (method === "Network.requestWillBeSent" && !/^(file|data|blob):/.test(params.request.url))
			incidents.push("request: " + params.request.url);
		else if (method === "Page.javascriptDialogOpening") {
			incidents.push("dialog: " + params.message);
			browser.send("Page.handleJavaScriptDialog", {accept: true}, session);
		}
	});
}

const KEYS = {Escape: 27, Enter: 13, ArrowLeft: 37, ArrowUp: 38, ArrowRight: 39, ArrowDown: 40};

function makePage(browser, session, incidents) {
	const send = (method, params) => browser.send(method, params, session);
	const page = {
		incidents, send,
		async eval(expression) {
			const {result, exceptionDetails} = await send("Runtime.evaluate",
				{expression, awaitPromise: true, returnByValue: true});
			if (exceptionDetails)
				throw new Error(exceptionDetails.exception?.description || exceptionDetails.text);
			return result.value;
		},
		async key(key, modifiers = 0) {
			const text = key.length === 1 && !modifiers ? key : key === "Enter" ? "\r" : undefined;
			const code = KEYS[key] || (/^[a-z0-9]$/i.test(key) ? key.toUpperCase().charCodeAt(0) : 0);
			for (const type of [text ? "keyDown" : "rawKeyDown", "keyUp"])
				await send("Input.dispatchKeyEvent", {type, key, text: type === "keyUp" ? undefined : text, modifiers,
					windowsVirtualKeyCode: code, nativeVirtualKeyCode: code});
		},
		async type(text) {
			await send("Input.insertText", {text});
		},
		// The middle of the box whose label begins so, 1 px towards its cap.
		async place(label) {
			return page.eval(`(() => {
				const g = [...document.querySelectorAll(".frames g")].find(g =>
					(g.querySelector("text") || {textContent: ""}).textContent.startsWith(${JSON.stringify(label)}));
				if (!g)
					return null;
				g.scrollIntoView({block: "center"});
				const r = g.querySelector("rect, polygon").getBoundingClientRect();
				return {x: r.x + r.width / 2, y: r.y + r.height / 2, left: r.x, width: r.width, top: r.y};
			})()`);
		},
		async mouse(type, {x, y}) {
			await send("Input.dispatchMouseEvent",
				{type, x, y, button: type === "mouseMoved" ? "none" : "left", clickCount: 1});
		},
		async hover(label) {
			await page.mouse("mouseMoved", await page.place(label));
		},
		async click(label) {
			const at = await page.place(label);
			assert(at, `no frame is labelled ${label}`);
			await page.mouse("mousePressed", at);
			await page.mouse("mouseReleased", at);
		},
		labels: () => page.eval(`[...document.querySelectorAll(".frames text")].map(t => t.textContent)`),
		status: () => page.eval(`[...document.querySelectorAll(".status text")].map(t => t.textContent)`),
		found: () => page.eval(`document.querySelector(".controls span").textContent`),
		async screenshot(to) {
			const {data} = await send("Page.captureScreenshot", {format: "png"});
			fs.writeFileSync(to, Buffer.from(data, "base64"));
		},
	};
	return page;
}

async function open(browser) {
	const {targetInfos} = await browser.send("Target.getTargets");
	const {targetId} = targetInfos.find(t => t.type === "page");
	const {sessionId} = await browser.send("Target.attachToTarget", {targetId, flatten: true});
	const page = makePage(browser, sessionId, []);

	watch(browser, sessionId, page.incidents);
	for (const domain of ["Page", "Runtime", "Log", "Network"])
		await page.send(`${domain}.enable`);
	await page.send("Emulation.setDeviceMetricsOverride",
		{width: Number(options.width), height: Number(options.height), deviceScaleFactor: 1, mobile: false});
	await page.send("Emulation.setEmulatedMedia",
		{features: [{name: "prefers-color-scheme", value: options.dark ? "dark" : "light"}]});
	if (options["no-script"])
		await page.send("Emulation.setScriptExecutionDisabled", {value: true});
	const loaded = new Promise(resolve => browser.listeners.push(({method, sessionId: of}) => {
		if (of === sessionId && method === "Page.loadEventFired")
			resolve();
	}));
	await page.send("Page.navigate", {url: "file://" + file});
	await loaded;
	if (!options["no-script"] && !options.static)
		for (const end = Date.now() + 20000; !await page.eval(`document.querySelector("svg.sprof.live") !== null`);)
			if (Date.now() > end || page.incidents.length)
				throw new Error("the picture did not come alive: " + page.incidents.join("; "));
	return page;
}

async function main() {
	const profile = fs.mkdtempSync(path.join(os.tmpdir(), "sprof-browser-"));
	const browser = new Browser(profile);
	const AsyncFunction = (async () => {}).constructor;
	let failure = null;

	try {
		const page = await open(browser);
		await new AsyncFunction("page", "assert", fs.readFileSync(0, "utf8"))(page, assert);
		assert.deepStrictEqual(page.incidents, [], "the page did what it should not");
	} catch (error) {
		failure = error;
	}
	const ended = new Promise(resolve => browser.process.on("exit", resolve));
	browser.send("Browser.close").catch(() => {});
	setTimeout(() => browser.process.kill("SIGKILL"), 3000).unref();
	await ended;
	fs.rmSync(profile, {recursive: true, force: true, maxRetries: 5});
	if (failure)
		console.error(failure.stack || failure.message);
	process.exit(failure ? 1 : 0);
}

main();
