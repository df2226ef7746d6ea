# a Go service behind a mutex: each request syncs a line of a journal

case_go() {
	local port
	command -v go >/dev/null || { missing "there is no go (https://go.dev/dl)"; return 0; }
	GO111MODULE=off go build -o "$work/counter" tests/cases/counter.go || return
	slow_disk "" || { missing "$why"; return 0; }
	start "$work/port" "$work/counter" serve "$work/disk/journal"
	local service=${started[0]}
	port=$(first_line "$work/port") || return
	start /dev/null "$work/counter" ask "$port" 16
	sleep 0.5
	record "a Go service behind a mutex" "--show-from 'main\\.'" -d 4s -p "$service" || return
	most "requests wait for the disk, one at a time" 80 ';main.countRequest;' ';main.countRequest;.*;syscall.Fsync;.*;disk wait_'
	verdict "that is as long as the recording, not longer" "$(awk '/;main.countRequest;/ { sum += $NF } END { print (sum > 3e9 && sum < 4.4e9) }' "$work/folded")"
}
