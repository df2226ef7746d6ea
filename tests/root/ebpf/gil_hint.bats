# --hints says who waits for the GIL, and who holds it.
load ../kernel

setup() {
	needs_bpf
	cd "$BATS_TEST_TMPDIR"
}

# bats test_tags=full
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
	jq -e '.rows[] | select(.code == "gil-wait") | (.where | startswith("wants_gil ")) and (.holder | startswith("spins_with_gil "))' json
	grep -E 'of the time that threads held the GIL was below spins_with_gil .*, most of it in thread [0-9]+' text
}

# A call into C that keeps the GIL while it waits holds up all threads, and takes no CPU time.
# bats test_tags=full
@test "who holds the GIL and waits is told, too" {
	command -v python3 >/dev/null || skip "there is no python3"
	cat >gil.py <<-PYTHON
		import ctypes, threading, time
		sleep = ctypes.PyDLL(None).usleep
		end = time.time() + 2
		def sleeps_with_gil():
		    while time.time() < end:
		        sleep(20000)
		        time.sleep(0.001)
		def wants_gil():
		    while time.time() < end:
		        time.sleep(0.0001)
		for f in (sleeps_with_gil, wants_gil):
		    threading.Thread(target=f).start()
	PYTHON
	python=$(python3 -c 'import sys; print(sys.executable)')
	"$SPROF" record -q --source ebpf --clock wall -o data -- "$python" gil.py
	"$SPROF" report --hints data | tee text
	"$SPROF" report --hints --json data >json
	jq -e '.rows[] | select(.code == "gil-wait") | (.holder | startswith("sleeps_with_gil ")) and .held_off_cpu > 1e9 and .holder_tid > 0' json
	grep -E 'of that time they did not run' text
}
