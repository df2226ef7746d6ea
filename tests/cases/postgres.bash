# PostgreSQL with a blocked update: three sessions update a row that a fourth keeps locked for three seconds

case_postgres() {
	local bin i
	bin=$(dirname "$(ls /usr/lib/postgresql/*/bin/initdb 2>/dev/null | tail -1)")
	[ -x "$bin/initdb" ] && id postgres >/dev/null 2>&1 || { missing "there is no PostgreSQL (apt-get install postgresql)"; return 0; }
	mkdir "$work/pg" && chown postgres "$work/pg"
	runuser -u postgres -- "$bin/initdb" -D "$work/pg" >/dev/null 2>>"$work/errors" || return
	start "$work/pg.log" runuser -u postgres -- "$bin/postgres" -D "$work/pg" -h '' -k "$work/pg"
	sql() { runuser -u postgres -- psql -q -h "$work/pg" postgres -c "$1"; }
	for i in {1..50}; do
		sql 'select 1' >/dev/null 2>&1 && break
		sleep 0.2
	done
	sql 'create table accounts (id int primary key, balance int); insert into accounts values (1, 0)' || return
	start /dev/null sql 'begin; update accounts set balance = 1 where id = 1; select pg_sleep(3); commit'
	sleep 0.5
	for i in 1 2 3; do
		start /dev/null sql 'update accounts set balance = balance + 1 where id = 1'
	done
	record "PostgreSQL with a blocked update" "" -d 3s -p "$(head -1 "$work/pg/postmaster.pid")" || return
	most "updates wait for the row" 80 ';heap_update;' ';heap_update;.*(LockTuple|XactLockTableWait);'
	most "some for the tuple" 10 ';heap_update;' ';heap_update;.*LockTuple;'
	most "and one for the transaction" 10 ';heap_update;' ';heap_update;.*XactLockTableWait;'
	most "the transaction that has the row sleeps" 80 ';pg_sleep;' ';pg_sleep;.*;poll wait_'
	kill -INT "$(head -1 "$work/pg/postmaster.pid")"
}
