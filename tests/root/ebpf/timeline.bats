# The timeline of threads of a recording with waits, in a real browser.
load ../kernel
load ../../browser/browser

setup() {
	needs_browser
	needs_bpf
	cd "$BATS_TEST_TMPDIR"
}

# bats test_tags=full
@test "the timeline of threads shows what each waited for, and its exact times" {
	"$SPROF" record -q --source ebpf -o data --clock wall -- "$TARGETS/waiting" 1000 >truth
	"$SPROF" flame --idle data -o waits.html
	"$SPROF" info --json data | jq '[.thread_times[] | select(.name == "reads_pipe")][0].waiting_ns / 1e6' >exact
	page --width=1280 waits.html <<-EOT
		await page.eval('document.querySelector(".names .more").click()');
		const titles = await page.eval(\`[...document.querySelectorAll(".threads .names span")].map(e => e.title)\`);
		const of = name => titles.find(title => title.includes(name + " ("));
		const share = (name, state) => Number((of(name).match(new RegExp(state + " ([0-9.]+)%")) || [0, 0])[1]);
		assert(share("reads_pipe", "disk, pipe, socket") > 70, of("reads_pipe"));
		assert(share("wants_lock", "lock") > 60, of("wants_lock"));
		assert(share("naps", "sleep, poll") > 60, of("naps"));
		assert(share("competes1", "running") + share("competes1", "for a CPU") > 90, of("competes1"));
		// The exact time is the one of the recording.
		const [, value, unit] = of("reads_pipe").match(/, waiting ([0-9.]+) (m?s) of/);
		assert(Math.abs(value * (unit === "s" ? 1000 : 1) - $(cat exact)) < 20, of("reads_pipe") + " $(cat exact)");
		// A row that waits all the time is full, in the colour of its wait and not in that of running.
		const inked = await page.eval(\`(() => {
			const canvas = document.querySelector(".threads canvas"), names = [...document.querySelectorAll(".threads .names span")];
			const y = names.findIndex(e => e.textContent.includes("reads_pipe")) * 12 + 6;
			const {data} = canvas.getContext("2d").getImageData(0, y, canvas.width, 1);
			let n = 0;
			for (let i = 3; i < data.length; i += 4)
				n += data[i] > 0;
			return n / canvas.width;
		})()\`);
		assert(inked > .6, "inked: " + inked);
	EOT
}
