/* Without what it takes, the static picture stays as it is. */
if (typeof DecompressionStream === "function") {
	const data = document.querySelector(".data");
	inflate(data.textContent).then(bytes => {
		data.remove();
		decode(bytes);
		makeHead();
		if (typeof makePage === "function")
			makePage();
		makeLive();
		svg.dispatchEvent(new CustomEvent("sprof-ready"));
	});
}
