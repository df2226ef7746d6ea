# --hints says who waits for the GIL, and who holds it.
load ../kernel

setup() {
	needs_bpf
	cd "$BATS_TEST_TMPDIR"
}

@test "threads that wait for the GIL are told with the function that holds it" {
	command -v python3 >/dev/null || skip "there is no python3"
	cat >gil.py <<-PYTHON
		import sys, threading, time
		sys.setswitchinterval(0.05)
		end = time.time() + 2
		def spins_with_gil():
		    while time.time() < end:
		        sum(range(20000))
		def wants_gil():
		    while time.time() < end:
		        time.sleep(0.0001)
		for f in (spins_with_gil, wants_gil):
		    threading.Thread(target=f).start()
	PYTHON
	python=$(python3 -c 'import sys; print(sys.executable)')
	"$SPROF" record -q --source ebpf --clock wall -o data -- "$python" gil.py
	"$SPROF" report --hints data >text
	"$SPROF" report --hints --json data >json
	jq -e '.rows[] | select(.code == "gil-wait")' json >/dev/null || {
		"$SPROF" fold data | grep -q take_gil || skip "this Python has no name for take_gil"
		cat text
		false
	}
	jq -e '.rows[] | select(.code == "gil-wait") | (.where | startswith("wants_gil ")) and (.holder | startswith("spins_with_gil "))' json
	grep -E 'of the CPU time with the GIL was below spins_with_gil' text
}
