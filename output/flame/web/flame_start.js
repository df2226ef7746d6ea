/*
 * Starts the script: finds the data and loads the column that the address asks for. In a browser
 * that cannot inflate the data, the static picture stays as it is. The events "sprof-ready" and
 * "sprof-all" tell tests that all is drawn, and that all nodes of the tree are there.
 */
if (typeof DecompressionStream === "function") {
	const data = [...document.querySelectorAll(".data")];
	sources = data.map(({dataset, textContent}) => ({...dataset, text: textContent}));
	homeBelow = svg.dataset.below ? sourceNamed(svg.dataset.below) : -1;
	load(sourceOf(location.hash.slice(1)), belowOf(location.hash.slice(1))).then(() => {
		data.forEach(e => e.remove());
		if (sources.length < 2)
			sources = [];
		makeHead();
		if (typeof makePage === "function")
			makePage();
		makeLive();
		svg.dispatchEvent(new CustomEvent("sprof-ready"));
		readAll();
	});
}
