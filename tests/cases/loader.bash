# a training loop that waits for its DataLoader

case_loader() {
	PYTHONPATH=tests/cases/lib/site-packages record "a loop that waits for its DataLoader" "--hide 'kind:^(native|kernel|unknown)\$'" -- \
		/usr/bin/env "${PYTHON:-python3}" tests/cases/train.py || return
	sed 's/^/  /' "$work/printed"
	"$SPROF" report --hints "$folder/loader.data" | sed -n '/DataLoader/,/^ *evidence/p' | fold -s -w 120 | sed 's/^/    /'
	verdict "the hint names the busiest worker and where it loads" "$("$SPROF" report --hints --json "$folder/loader.data" |
		jq 'if any(.rows[]; .code == "data-wait" and .percent > 60 and (.where | startswith("train ")) and .worker_percent > 80 and
			(.worker_where | startswith("Pictures.__getitem__ "))) then 1 else 0 end')"
	most "a worker that does not load waits for its next indices" 60 ';_worker_loop ' ';_worker_loop .*(;sleep_|;(poll|pipe|lock) wait_)'
}
