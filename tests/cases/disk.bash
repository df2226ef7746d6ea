# A disk in a file, mounted at $work/disk. With SPEED, a process of the cgroup $group reads so many bytes a second from it.
slow_disk() { # SPEED, or ""; sets `why` if there can be none
	why=
	truncate -s 96M "$work/disk.img"
	mkfs.ext4 -q "$work/disk.img" || { why="there is no mkfs.ext4"; return 1; }
	mkdir -p "$work/disk"
	device=$(losetup -f --show "$work/disk.img") || { why="there is no loop device"; return 1; }
	mount "$device" "$work/disk" || { why="cannot mount a loop device"; return 1; }
	mounted=$work/disk
	[ -n "$1" ] || return 0
	group=/sys/fs/cgroup/blkio/sprof_cases_$$
	if mkdir "$group" 2>/dev/null; then
		echo "$(cat "/sys/block/${device##*/}/dev") $1" >"$group/blkio.throttle.read_bps_device" && return
	fi
	group=/sys/fs/cgroup/sprof_cases_$$
	if mkdir "$group" 2>/dev/null && echo +io >/sys/fs/cgroup/cgroup.subtree_control 2>/dev/null; then
		echo "$(cat "/sys/block/${device##*/}/dev") rbps=$1" >"$group/io.max" && return
	fi
	[ -d "$group" ] || group=
	why="no cgroup limits the speed of a disk"
	return 1
}
