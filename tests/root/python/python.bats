# Python frames among native ones, on every installed CPython from 3.8 on: Debian's and pyenv's.
load ../recorder
load ../pythons

has_its_shares() {
	"$SPROF" record -q -o "$data" -F 999 -- "$python" tests/targets/python_shares.py 1200 >"$truth"
	fold
	judge shares "$truth" "$folded"
}

@test "loops, calls, released GIL and callbacks from C have their true shares" {
	each_python has_its_shares
}

has_frames_when_attached() {
	start "$python" tests/targets/python_shares.py 60000
	sleep 0.5
	"$SPROF" record -q -o "$data" -F 999 -d 1s -p "${pids[-1]}"
	kill -9 "${pids[-1]}"
	fold
	judge covered "$folded"
}

@test "a running process has Python frames in all its samples, holding the GIL or not, from the first on" {
	each_python has_frames_when_attached
}

agrees_with_faulthandler() { # holding | released, threads that run
	start "$python" tests/targets/python_at_rest.py "$truth" "$1"
	sleep 1
	kill -USR1 "${pids[-1]}"
	sleep 0.2
	"$SPROF" record -q -o "$data" -F 999 -d 700ms -p "${pids[-1]}"
	kill -9 "${pids[-1]}"
	"$SPROF" export -f pprof -o "$data.gz" "$data"
	judge at_rest "$truth" "$data.gz" "$2"
}

@test "at rest, stacks are faulthandler's in file, line and function" {
	each_python agrees_with_faulthandler holding 1
}

# bats test_tags=full
@test "at rest with the GIL released, stacks are faulthandler's in file, line and function" {
	each_python agrees_with_faulthandler released 2
}

has_no_impossible_stack() {
	"$SPROF" record -q -o "$data" -F 9999 -- "$python" tests/targets/python_impossible.py 2
	fold
	judge possible "$folded" 3000
}

# bats test_tags=full
@test "a leaf that only one function calls is below no other in any of thousands of samples" {
	each_python has_no_impossible_stack
}

names_what_is_gone() {
	for how in once often; do
		"$SPROF" record -q -o "$data" -F 4999 -- "$python" tests/targets/python_shortlived.py 1 $how >"$truth"
		fold
		judge named "$truth" "$folded"
	done
}

# bats test_tags=full
@test "functions that live 3 ms, one in the memory of the other, have their own names" {
	each_python names_what_is_gone
}

family_has_its_shares() {
	"$SPROF" record -q -o "$data" -F 999 -- "$python" tests/targets/python_family.py "${pythons[@]}" >"$truth"
	fold
	judge shares "$truth" "$folded" ""
}

# bats test_tags=full
@test "workers that are forked and spawned, and other versions that are exec'ed, have their true shares" {
	pythons=()
	each_python eval 'pythons+=("$python")'
	python=${pythons[0]}
	family_has_its_shares
}

@test "with --no-python the interpreter's own functions are shown" {
	"$SPROF" record -q -o "$data" --no-python -- python3 tests/targets/python_shares.py 200
	fold
	[ "$(grep -c 'python_shares.py' "$folded")" = 0 ]
	grep -q '_PyEval_EvalFrameDefault' "$folded"
}

# bats test_tags=full
@test "of an interpreter that is too old the native frames are shown, and why" {
	python=~/.pyenv/versions/3.7.16/bin/python3
	[ -x "$python" ] || skip "CPython 3.7.16 is not installed by pyenv"
	"$SPROF" record -o "$data" -d 500ms -- "$python" -c 'while True: pass' 2>"$truth" 3>&- &
	pids+=($!)
	sleep 1.5
	cat "$truth"
	grep -q "no Python frames of what runs '.*libpython3.7m.*': CPython 3.7 is older than 3.8; its native frames are there" "$truth"
	pkill -9 -P "${pids[-1]}"
	fold
	grep -q '_PyEval_EvalFrameDefault' "$folded"
}

# The table of code objects has 64 MiB; a large line table has four times its size there. Line tables are of another form
# before 3.11.
has_names_again() {
	"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || return 0
	"$SPROF" record -q -o "$data" --source ebpf -F 4999 -- "$python" tests/targets/python_many_codes.py 900 1
	fold
	awk '
		/;f[0-9]+ \(/ { many += $NF }
		/;main \(.*;steady \(.*;step \(/ { steady += $NF }
		{ all += $NF }
		END { printf "%d samples, %d in functions with large tables, %d in step()\n", all, many, steady
		      exit many < 2000 || steady < 4000 }' "$folded"
}

# bats test_tags=full
@test "functions that run on have their names again after the table of code objects was full" {
	needs_bpf
	each_python has_names_again
}
