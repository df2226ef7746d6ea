# The wheel of `make wheel`: what pip makes of it, and that nothing else is needed.

setup() {
	bats_require_minimum_version 1.5.0
	ROOT=$BATS_TEST_DIRNAME/../..
	local wheels=("$ROOT"/dist/sprof-*.whl)
	[ -e "${wheels[0]}" ] || skip 'no wheel: make wheel'
	WHEEL=${wheels[0]}
	python3 -c 'import venv, ensurepip' 2>/dev/null || skip 'python3 makes no environments (python3-venv)'
	cd "$BATS_TEST_TMPDIR"
	cat >work.py <<-'EOT'
		import sys
		def inner(n):
		    return sum(i * i for i in range(n))
		def outer():
		    for _ in range(12):
		        inner(200000)
		outer()
		sys.exit(7)
	EOT
}

# A fresh environment with the wheel in it, and nothing fetched.
venv() {
	python3 -m venv venv
	venv/bin/pip -q install --no-index "$WHEEL"
}

# bats test_tags=full
@test "pip installs it, and sprof and python -m sprof work" {
	venv
	run -7 venv/bin/sprof record -s timer -q -o a.data -- venv/bin/python work.py
	venv/bin/python -m sprof report a.data | grep -q 'inner'
	venv/bin/sprof flame -o a.svg a.data
	xmllint --noout a.svg
	run -2 venv/bin/python -m sprof report --no-such-option
	[[ "$output" = sprof* ]]
	[ "$(venv/bin/sprof --version)" = "$("$SPROF" --version)" ]
	venv/bin/python -c 'import importlib.metadata as m; print("sprof", m.version("sprof"))' | grep -qxF "$("$SPROF" --version)"
}

# bats test_tags=full
@test "it brings manual pages, completions and the libraries, and pip takes all of them away again" {
	venv
	[ -s venv/share/man/man1/sprof-record.1 ]
	grep -q record venv/share/bash-completion/completions/sprof
	[ -s venv/share/zsh/site-functions/_sprof ]
	[ -s venv/share/fish/vendor_completions.d/sprof.fish ]
	venv/bin/sprof doctor | grep -q '^timer  *OK'
	venv/bin/pip -q uninstall -y sprof
	run -0 find venv -path '*sprof*'
	echo "$output"
	[ -z "$output" ]
}

# bats test_tags=full
@test "it works in a folder of its own, too, without an environment" {
	python3 -m venv pip # a pip of known age
	pip/bin/pip -q install --no-index --target there "$WHEEL"
	PYTHONPATH=there run -7 python3 -m sprof record -s timer -q -o a.data -- python3 work.py
	"$SPROF" info --json a.data | jq -e '.samples > 0'
}

@test "the programs in it need no glibc that its name does not say" {
	[[ "$(basename "$WHEEL")" =~ manylinux_2_([0-9]+)_ ]]
	python3 -m zipfile -e "$WHEEL" .
	"$ROOT"/tests/lint/glibc "2.${BASH_REMATCH[1]}" sprof/bin/sprof sprof/lib/*.so
	[ "$(readelf -dW sprof/bin/sprof | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort | paste -sd ' ')" = \
		'libc.so.6 libdl.so.2 libm.so.6 libpthread.so.0 librt.so.1' ]
}

@test "the same files make the same wheel" {
	python3 -m zipfile -e "$WHEEL" content
	local version info
	version=$(basename "$WHEEL" | cut -d- -f2)
	info=content/sprof-$version.dist-info
	# RECORD names every file, with its hash.
	cut -d, -f1 "$info/RECORD" | sort >recorded
	(cd content && find . -type f -printf '%P\n' | sort) | diff recorded -
	python3 - content "$info/RECORD" <<-'EOT'
		import base64, csv, hashlib, sys
		for name, hash, size in csv.reader(open(sys.argv[2])):
		    data = open(sys.argv[1] + "/" + name, "rb").read()
		    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
		    assert not hash or (hash == "sha256=" + digest and int(size) == len(data)), name
	EOT
	rm -r "$info"
	chmod 755 content/sprof/bin/sprof content/sprof/lib/*.so # zipfile -e forgets modes
	touch content/sprof/*.py
	python3 "$ROOT/deploy/python/wheel.py" content "$version" "$(basename "$WHEEL" .whl | cut -d- -f5)" again
	cmp "$WHEEL" again/*.whl
}
