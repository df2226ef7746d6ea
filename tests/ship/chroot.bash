# Root file systems of other releases of Debian, from the mirror that this machine's apt uses, kept in the cache.

# Sets BASE to the root of a release, or skips the test. SUITE [PACKAGE,...]
needs_base() {
	local suite=$1 mirror why=$BATS_TEST_TMPDIR/why
	[ "$(id -u)" = 0 ] || skip 'needs root, for a chroot'
	command -v debootstrap >/dev/null || skip 'debootstrap is not installed'
	unshare -m true 2>/dev/null || skip 'no mount namespaces here'
	BASE=$SPROF_TEST_CACHE/base/$suite
	[ ! -e "$BASE.why" ] || [ "$(find "$BASE.why" -mmin +600)" ] || skip "$suite: $(cat "$BASE.why")"
	[ ! -e "$BASE/done" ] || return 0
	mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null |
		grep -oE 'https?://[^ ]*/debian/?( |$)' | head -1 | tr -d ' ')
	[ -n "$mirror" ] || skip 'apt names no mirror of Debian'
	rm -rf "$BASE"
	mkdir -p "$BASE"
	if ! timeout 280 debootstrap --variant=minbase ${2:+--include="$2"} "$suite" "$BASE" "$mirror" >"$why" 2>&1; then
		tail -1 "$why" | tee "$BASE.why"
		rm -rf "$BASE"
		skip "$suite cannot be had: $(cat "$BASE.why")"
	fi
	rm -f "$BASE"/var/cache/apt/archives/*.deb
	touch "$BASE/done"
}

# Runs a shell script (standard input) in a copy of $BASE that is gone afterwards, with the folder $PWD at /mnt.
in_base() {
	cat >"$BATS_TEST_TMPDIR/script"
	unshare -m --propagation private bash -ec '
		mount -t tmpfs tmpfs "$2/over"
		mkdir "$2/over/upper" "$2/over/work" "$2/over/root"
		mount -t overlay overlay -o "lowerdir=$1,upperdir=$2/over/upper,workdir=$2/over/work" "$2/over/root"
		cd "$2/over/root"
		mount -t proc proc proc
		mount --rbind /dev dev
		mount --rbind /sys sys
		mount --bind "$3" mnt
		exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
			chroot . /bin/bash -e -s' \
		bash "$BASE" "$BATS_TEST_TMPDIR" "$PWD" <"$BATS_TEST_TMPDIR/script"
}
