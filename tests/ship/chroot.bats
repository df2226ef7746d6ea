# The archive, the wheel and the package on older and newer bases than the one that made them: real ones, in a chroot.
#
# bats file_tags=full

load chroot

setup() {
	bats_require_minimum_version 1.5.0
	ROOT=$BATS_TEST_DIRNAME/../..
	mkdir "$BATS_TEST_TMPDIR/over" "$BATS_TEST_TMPDIR/mnt"
	cd "$BATS_TEST_TMPDIR/mnt"
}

take() { # PATTERN HINT
	local files=($1)
	[ -e "${files[0]}" ] || skip "nothing to try: $2"
	cp "${files[0]}" .
}

archive_runs() {
	take "$BUILD/sprof-*.tar.gz" 'make dist'
	in_base <<-'EOT'
		tar -xzf /mnt/sprof-*.tar.gz
		cd sprof-*
		bin/sprof doctor | tee doctor
		grep -q '^timer  *OK' doctor
		bin/sprof record -o /tmp/a.data -- sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done'
		bin/sprof record -s timer -o /tmp/b.data -- sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done'
		for recording in /tmp/a.data /tmp/b.data; do
			bin/sprof report $recording | tee report
			grep -q libc report
			bin/sprof flame -o /mnt/a.svg $recording
		done
		sh -c 'while :; do :; done' & # attached to without rights
		bin/sprof record -s timer -p $! -d 500ms -o /tmp/c.data
		kill $!
		bin/sprof report /tmp/c.data | grep -qw dash
		bin/sprof completion bash | cmp - share/bash-completion/completions/sprof
	EOT
	xmllint --noout a.svg
}

wheel_runs() {
	take "$ROOT/dist/sprof-*.whl" 'make wheel'
	in_base <<-'EOT'
		python3 --version
		python3 -m venv venv
		venv/bin/pip -q install --no-index /mnt/sprof-*.whl
		echo 'def work(n): return sum(i * i for i in range(n))' >work.py
		echo 'for _ in range(20): work(200000)' >>work.py
		venv/bin/sprof record -s timer -o a.data -- venv/bin/python work.py
		venv/bin/python -m sprof report a.data | tee report
		grep -q work report
	EOT
}

package_installs() {
	take "$ROOT/dist/sprof_*.deb" 'make deb'
	in_base <<-'EOT'
		apt-get -qq update
		apt-get -qq install -y --no-install-recommends /mnt/sprof_*.deb libcap2-bin >/dev/null
		sprof --version
		[ -z "$(getcap /usr/bin/sprof)" ]
		sprof doctor | tee doctor
		grep -q '^timer  *OK' doctor
		for source in ebpf timer; do
			sprof record -s $source -o a.data -- sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done'
			sprof report a.data | grep -q libc
		done
		apt-get -qq purge -y sprof >/dev/null
		find /usr /etc -name 'sprof*' -o -name 'libsprof*' -o -name _sprof | tee left
		[ ! -s left ]
	EOT
}

@test "buster, glibc 2.28: the archive" {
	needs_base buster
	archive_runs
}

@test "bullseye, glibc 2.31: the archive" {
	needs_base bullseye python3-venv
	archive_runs
}

@test "bullseye, Python 3.9: the wheel" {
	needs_base bullseye python3-venv
	wheel_runs
}

@test "bookworm: the package" {
	needs_base bookworm python3-venv
	package_installs
}

@test "bookworm, Python 3.11: the wheel" {
	needs_base bookworm python3-venv
	wheel_runs
}

@test "trixie, glibc 2.41: the archive" {
	needs_base trixie python3-venv
	archive_runs
}

@test "trixie: the package" {
	needs_base trixie python3-venv
	package_installs
}

@test "trixie, Python 3.13: the wheel" {
	needs_base trixie python3-venv
	wheel_runs
}
