# What the page computes of a large tree when it is asked, compared with the arrays that other trees have.
load browser

# Runs a test with a tree maker in front: of(depths) is a tree with the arrays, and asked(tree) the large one of the same depths.
trees() { # the test is standard input
	{
		cat "$BATS_TEST_DIRNAME/../../output/flame/web/flame_large.js"
		cat <<-'EOT'
			const addUp = (tree, total, totalSamples) => Object.assign(tree, {total, totalSamples: totalSamples || total});
			const of = (depth, self) => {
				const nr = depth.length, parent = [0], end = [], path = [];
				for (let i = 0; i < nr; i++) {
					for (const done of path.splice(depth[i]))
						end[done] = i;
					parent[i] = path[path.length - 1] || 0;
					path[depth[i]] = i;
				}
				for (const done of path)
					end[done] = nr;
				return {nr, depth, self, samples: self, parent, end, total: end.map((to, i) => self.slice(i, to).reduce((a, b) => a + b, 0))};
			};
			const large = ({depth, self}) => completeLarge({nr: depth.length, depth, self, samples: self});
			const compare = tree => {
				const other = large(tree);
				for (const key of ["end", "parent", "total"]) {
					for (let i = tree.nr - 1; i >= 0; i--)
						assert.strictEqual(other[key].at(i), tree[key][i], `${key} of node ${i} of ${tree.nr}`);
					for (let i = 0; i < tree.nr; i++)
						assert.strictEqual(other[key].at(i), tree[key][i], `${key} of node ${i} of ${tree.nr}, again`);
				}
			};
			let seed = 1;
			const random = below => (seed = seed * 16807 % 2147483647) % below;
		EOT
		cat
	} >test.js
	node -e '
		const assert = require("assert");
		new Function("assert", require("fs").readFileSync("test.js", "utf8"))(assert);'
}

setup() {
	needs_node
	cd "$BATS_TEST_TMPDIR"
}

@test "a large tree tells the ends, parents and totals that arrays would hold" {
	trees <<-'EOT'
		for (const nr of [1, 2, 63, 64, 65, 127, 128, 129, 4095, 4096, 4097, 9000]) {
			for (const reach of [1, 3, 200]) { // how many levels one node may go up
				const depth = new Uint8Array(nr), self = new Uint8Array(nr);
				for (let i = 0; i < nr; i++) {
					depth[i] = i && Math.max(1, Math.min(255, depth[i - 1] + 1 - (random(2) ? random(reach) : 0)));
					self[i] = random(4) ? 0 : random(128);
				}
				compare(of(depth, self));
			}
		}
	EOT
}

@test "a large tree may be one long path, or all of it one level" {
	trees <<-'EOT'
		const nr = 2000, self = new Float64Array(nr).fill(2 ** 33);
		compare(of(Uint16Array.from({length: nr}, (_, i) => i), self));
		compare(of(Uint8Array.from({length: nr}, (_, i) => i ? 1 : 0), self));
	EOT
}

@test "a large tree keeps answers of more nodes than it has room for" {
	trees <<-'EOT'
		const nr = 4 * ANSWERS, depth = Uint8Array.from({length: nr}, (_, i) => i ? 2 - i % 2 : 0);
		const {end, total} = large({depth, self: new Uint8Array(nr).fill(1)});
		for (const i of [1, 2, ANSWERS + 1, 1, ANSWERS + 2, 2, 3 * ANSWERS + 1, 1])
			assert.deepStrictEqual([end.at(i), total.at(i)], i % 2 ? [i + 2, 2] : [i + 1, 1]);
		assert.deepStrictEqual([end.at(0), total.at(0)], [nr, nr]);
	EOT
}
