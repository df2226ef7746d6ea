# For tests of Python frames: the interpreters there are, and the judge of what was recorded.

# Runs a command with each interpreter, which it finds in $python. COMMAND...
each_python() {
	local found=0
	for python in /usr/bin/python3 ~/.pyenv/versions/3.*/bin/python3; do
		[ -x "$python" ] && "$python" -c 'import sys; sys.exit(sys.version_info < (3, 8))' || continue
		found=1
		echo "== $python, $("$python" -V)"
		"$@"
	done
	[ $found = 1 ] || skip "no CPython from 3.8 on is installed"
}

judge() {
	python3 tests/root/python_stacks.py "$@"
}
