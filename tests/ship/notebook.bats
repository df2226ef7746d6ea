# %%sprof in a real Jupyter kernel, without rights. The kernel and its client come from PyPI, once, into the cache.
#
# bats file_tags=full

SHIP=$BATS_TEST_DIRNAME
load ../rights

setup() {
	bats_require_minimum_version 1.5.0
	local wheels=("$SHIP"/../../dist/sprof-*.whl)
	[ -e "${wheels[0]}" ] || skip 'no wheel: make wheel'
	needs_attach
	VENV=$SPROF_TEST_CACHE/notebook
	if ! "$VENV/bin/python" -c 'import nbclient, ipykernel' 2>/dev/null; then
		mkdir -p "$SPROF_TEST_CACHE"
		rm -rf "$VENV"
		python3 -m venv "$VENV" || skip 'python3 makes no environments (python3-venv)'
		timeout 240 "$VENV/bin/pip" -q install --retries 1 --timeout 15 nbclient ipykernel 2>why ||
			{ rm -rf "$VENV"; skip "PyPI is not reachable: nbclient and ipykernel are not installed"; }
	fi
	"$VENV/bin/pip" -q install --no-index --force-reinstall "${wheels[0]}"
	export IPYTHONDIR=$BATS_TEST_TMPDIR JUPYTER_RUNTIME_DIR=$BATS_TEST_TMPDIR/runtime
	cd "$BATS_TEST_TMPDIR"
}

# Runs cells (standard input) without any capability, into out.json.
cells() {
	cat >cells
	local without=()
	[ "$(id -u)" != 0 ] || without=(setpriv --bounding-set -all --inh-caps -all --no-new-privs)
	"${without[@]}" "$VENV/bin/python" "$SHIP/run_notebook.py" out.json <cells
}

# The picture of a cell: its number, from 0.
picture() {
	jq -r ".[$1][] | select(.data) | .data[\"text/html\"] // empty" out.json >"cell$1.html"
	grep -o 'base64,[A-Za-z0-9+/=]*' "cell$1.html" | cut -d, -f2 | base64 -d >"cell$1.svg"
	xmllint --noout "cell$1.svg"
}

@test "the flame graph of a cell is its output, and nothing of sprof stays in the kernel" {
	cells <<-'EOT'
		%load_ext sprof
		def state():
		    maps = [line.split()[-1] for line in open("/proc/self/maps") if "sprof" in line or "memfd" in line]
		    status = [line for line in open("/proc/self/status") if line.startswith(("SigCgt", "TracerPid", "CapEff"))]
		    return sorted(maps), status, open("/proc/self/timers").read()
		def third(n):
		    return sum(i * i for i in range(n))
		def two_thirds(n):
		    return sum(i * i for i in range(2 * n))
		before = state()
		# ----
		%%sprof -F 500 -o kept.data
		for _ in range(60):
		    third(100000), two_thirds(100000)
		6 * 7
		# ----
		print(before == state(), before)
	EOT
	jq . out.json
	picture 1
	grep -q 'two_thirds' cell1.svg
	grep -q '&#60;cell&#62;' cell1.svg
	jq -e '[.[1][] | select(.output_type == "stream")] == []' out.json # no warning
	[ "$(jq -r '.[1][] | select(.output_type == "execute_result") | .data["text/plain"]' out.json)" = 42 ]
	jq -r '.[1][].data["text/plain"] // empty' out.json | grep -q 'Self%.*Function'
	jq -r '.[2][].text' out.json | grep '^True'
	jq -r '.[2][].text' out.json | grep 'CapEff:.*0000000000000000'
	[ "$(stat -c %a kept.data)" = 600 ]
	# The program knows its true shares.
	"$SPROF" report --json -n 0 kept.data >report.json
	jq -e '[.rows[] | select(.function | startswith("third ")).total_ns][0] as $one |
		[.rows[] | select(.function | startswith("two_thirds ")).total_ns][0] as $two |
		$one / $two | . > 0.33 and . < 0.75' report.json
}

@test "a cell that fails shows its picture and its exception" {
	cells <<-'EOT'
		%load_ext sprof
		def work(n):
		    total = sum(i * i for i in range(n))
		    return total // 0
		# ----
		%%sprof -F 500
		before = 1
		work(5000000)
		after = 1
		# ----
		print(before, "after" in globals())
	EOT
	picture 1
	grep -q 'work' cell1.svg
	[ "$(jq -r '.[1][] | select(.output_type == "error") | .ename' out.json)" = ZeroDivisionError ]
	jq -r '.[1][] | select(.output_type == "error") | .traceback[]' out.json | sed 's/\x1b\[[0-9;]*m//g' | tee traceback
	grep -q 'total // 0' traceback
	! grep -q 'run_code\|notebook.py' traceback || false
	[ "$(jq -r '.[2][].text' out.json)" = '1 False' ]
}

@test "what sprof refuses is an exception in words, and the code is not run" {
	cells <<-'EOT'
		%load_ext sprof
		ran = 0
		# ----
		%%sprof -s nosuch
		ran = 1
		# ----
		%%sprof --nosuch
		ran = 1
		# ----
		%%sprof --hide '('
		sum(i * i for i in range(3000000))
		# ----
		%sprof
		# ----
		print(ran)
	EOT
	jq -r '.[][] | [.output_type, .ename, .evalue, .text] | join(" ")' out.json | tee said
	[ "$(jq -r '.[1][] | select(.output_type == "error") | .ename' out.json)" = SprofError ]
	jq -r '.[1][] | .evalue // empty' out.json | grep -q "nosuch"
	jq -r '.[1][] | .evalue // empty' out.json | grep -q "The code was not run."
	[ "$(jq -r '.[1][] | select(.output_type == "error") | .traceback | length' out.json)" = 1 ]
	grep -q 'option --nosuch not recognized' said
	[ "$(jq -r '.[3][] | select(.output_type == "error") | .ename' out.json)" = SprofError ]
	grep -q 'needs a statement' said
	[ "$(jq -r '.[5][].text' out.json)" = 0 ]
}

@test "a statement is profiled in a line, and ^C ends the cell but not its picture" {
	cells <<-'EOT'
		%load_ext sprof
		def work(n):
		    return len("a b"), sum(i * i for i in range(n))
		# ----
		%sprof -F 500 --hide "^Py" work(4000000) if "a b" else 0
		# ----
		%%sprof
		import os, signal, threading
		threading.Timer(1.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
		while True:
		    work(1000)
	EOT
	picture 1
	grep -q 'work' cell1.svg
	jq -r '.[1][] | select(.output_type == "execute_result") | .data["text/plain"]' out.json | grep '^(3, '
	picture 2
	[ "$(jq -r '.[2][] | select(.output_type == "error") | .ename' out.json)" = KeyboardInterrupt ]
}

@test "in IPython on a terminal it shows a table" {
	"$VENV/bin/ipython" --no-banner --colors=NoColor -c '
%load_ext sprof
def work(n):
    return sum(i * i for i in range(n))
%sprof -F 500 work(5000000)' >said 2>&1
	cat said
	grep -q 'Self%.*Function' said
	grep -q 'work' said
}
