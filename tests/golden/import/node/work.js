// Spins in functions of its own for a second, for --cpu-prof.
let sum = 0;
function spin(ms) {
	for (const end = Date.now() + ms; Date.now() < end;)
		for (let i = 0; i < 1e5; i++)
			sum += i % 7;
}
function outer() {
	spin(100);
}
spin(300);
[1, 2].forEach(() => outer());
