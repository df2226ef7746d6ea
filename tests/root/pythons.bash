# For tests of Python frames: finds the interpreters, and checks what was recorded.

# The CPythons from 3.8 on: those of $SPROF_PYTHONS, or else the system's.
pythons() {
	local python
	for python in ${SPROF_PYTHONS-/usr/bin/python3}; do
		[ ! -x "$python" ] || ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 8))' || echo "$python"
	done
}

# Runs a command with each interpreter in turn; $python is its path. COMMAND...
each_python() {
	local found
	found=$(pythons)
	[ -n "$found" ] || skip "no CPython from 3.8 on is installed"
	for python in $found; do
		echo "== $python, $("$python" -V)"
		"$@"
	done
}

judge() {
	python3 tests/root/python_stacks.py "$@"
}
