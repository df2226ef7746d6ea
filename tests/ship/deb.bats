# The Debian package of `make deb`: what is in it, and what lintian says. chroot.bats installs it.

setup() {
	bats_require_minimum_version 1.5.0
	ROOT=$BATS_TEST_DIRNAME/../..
	local debs=("$ROOT"/dist/sprof_*.deb)
	[ -e "${debs[0]}" ] || skip 'no package: make deb'
	DEB=${debs[0]}
	cd "$BATS_TEST_TMPDIR"
}

@test "the package holds program, libraries, manual pages, completions, and gives no capabilities" {
	dpkg-deb -x "$DEB" root
	for page in "$ROOT"/docs/man/*.1; do
		gzip -dc "root/usr/share/man/man1/$(basename "$page").gz" | cmp "$page" -
	done
	grep -q record root/usr/share/bash-completion/completions/sprof
	[ -s root/usr/share/zsh/vendor-completions/_sprof ]
	[ -s root/usr/share/fish/vendor_completions.d/sprof.fish ]
	root/usr/bin/sprof record -s timer -q -o a.data -- sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done'
	"$SPROF" info --json a.data | jq -e '.samples > 0'
	[ -z "$(PATH=$PATH:/usr/sbin getcap -r root)" ]
	[ -z "$(find root -perm /6000)" ]
	grep -q '^ExecStart=/usr/bin/sprof record -a ' root/usr/lib/systemd/system/sprof.service
	! grep -q 'usr/local\|deploy/' root/usr/lib/systemd/system/sprof.service || false
	# No scripts run when it is installed.
	[ "$(dpkg-deb -I "$DEB" | grep -c ' \(preinst\|postinst\|prerm\|postrm\)$')" -eq 0 ]
}

# bats test_tags=full
@test "it depends on the libraries that the program names, and on nothing that is loaded later" {
	dpkg-deb -x "$DEB" root
	dpkg-deb -f "$DEB" Depends >depends
	cat depends
	for library in $(readelf -dW root/usr/bin/sprof | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
		dpkg -S "*/$library" | cut -d: -f1 | sort -u >packages
		grep -qwf packages depends || { echo "$library"; return 1; }
	done
	! grep -q 'libcurl\|capstone\|debuginfod' depends || false
	dpkg-deb -f "$DEB" Recommends | grep -q libcurl4
	[ "$(dpkg-deb -f "$DEB" Version)" = "$("$SPROF" --version | cut -d' ' -f2)" ]
	dpkg-deb -e "$DEB" control
	(cd root && md5sum --quiet -c ../control/md5sums)
}

# bats test_tags=full
@test "lintian finds nothing" {
	command -v lintian >/dev/null || skip 'lintian is not installed'
	local options=()
	[ "$(id -u)" != 0 ] || options=(--allow-root)
	run lintian "${options[@]}" --fail-on error,warning --pedantic "$DEB"
	echo "$output"
	[ "$status" -eq 0 ]
}

# bats test_tags=full
@test "the same sources make the same package" {
	make -C "$ROOT" -s B="${BUILD#"$(realpath "$ROOT")"/}" -o all install PREFIX=/usr DESTDIR="$PWD/stage" >/dev/null
	# The time in it may be that of an earlier commit.
	dpkg-deb -x "$DEB" root
	export SOURCE_DATE_EPOCH=$(date +%s -d "$(gzip -dc root/usr/share/doc/sprof/changelog.gz | sed -n 's/^ -- .*>  //p')")
	"$ROOT"/deploy/debian/make_deb "$PWD/stage" "$(dpkg-deb -f "$DEB" Version)" "$PWD/again"
	cmp "$DEB" again/*.deb
}
