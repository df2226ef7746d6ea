# threads of Python behind a lock

case_locks() {
	record "three threads behind a lock" "--hide 'kind:^(native|kernel|unknown)\$'" -- /usr/bin/python3 tests/cases/locks.py || return
	most "the consumer waits for locks" 80 ';consumer \(locks.py:7\)' ';consumer \(locks.py:7\).*;lock wait_'
	most "its waits are for the queue" 20 ';consumer \(locks.py:7\).*;lock wait_' ';Queue.get .*;lock wait_'
	most "and for the lock itself" 10 ';consumer \(locks.py:7\).*;lock wait_' ';consumer \(locks.py:7\);lock wait_'
	most "the holder sleeps" 80 ';holder \(locks.py:11\)' ';sleep_'
	verdict "the exact times have a row for each thread" "$(jq '[.thread_times[] | select(.wall_ns > 1e9)] | length >= 4 | if . then 1 else 0 end' "$work/info")"
}
