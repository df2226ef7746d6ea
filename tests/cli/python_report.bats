# The tables of sprof report that imitate tools for Python. Their sums are compared with other reports, and with other
# programs' output for the same profile.

GOLDEN=$BATS_TEST_DIRNAME/../golden

setup() {
	bats_require_minimum_version 1.5.0
	cp "$GOLDEN/recordings/complete.data" "$GOLDEN/recordings/gpu.data" "$GOLDEN/output/kinds.folded" "$BATS_TEST_TMPDIR"
	cd "$BATS_TEST_TMPDIR"
}

@test "--pstats prints the times that pstats prints of the same recording, sorted as it sorts them" {
	local sort column=1
	"$SPROF" export -o x.pstats complete.data
	for sort in tottime cumtime; do
		# No two of pstats' rows are told apart but by their name: the order is that of the times.
		"$SPROF" report --pstats -s $sort complete.data 2>/dev/null | sed '1,/^ncalls/d' |
			sed -E 's/^ *- +([0-9.]+) +- +([0-9.]+) +- +/\1 \2 /' >ours
		python3 - $sort >theirs <<-'END'
			import pstats, sys
			pstats.Stats("x.pstats").sort_stats(sys.argv[1]).print_stats()
		END
		sed -i '1,/^ *ncalls/d; /^$/d' theirs
		[ "$(wc -l <ours)" -eq 7 ]
		sed -E 's/^ *0 +([0-9.]+) +([0-9.]+) +/\1 \2 /' theirs >cut
		diff <(sort ours) <(sort cut)
		diff <(cut -d' ' -f$column ours) <(cut -d' ' -f$column cut)
		column=2
	done
}

@test "--pstats counts what was counted: kernels, ranges and calls of the API, and nothing else" {
	"$SPROF" report --pstats --json --column gpu gpu.data >got.json
	"$SPROF" report --gpu --json gpu.data >gpu.json
	"$SPROF" report --api --json gpu.data >api.json
	"$SPROF" report --ranges --json gpu.data >ranges.json
	jq -n --slurpfile got got.json --slurpfile gpu gpu.json --slurpfile api api.json --slurpfile ranges ranges.json '
		def calls: map({ (.name): .calls }) | add;
		($gpu[0].rows | calls) as $kernels |
		($api[0].rows | map(select(.api == "runtime")) | calls) as $calls |
		($ranges[0].rows | group_by(.range) | map({ (.[0].range): (map(.repeats) | add) }) | add) as $repeats |
		$got[0].rows | map({ (.function): .ncalls }) | add |
		.["gemm(float*)"] == $kernels["gemm(float*)"] and
		.cudaLaunchKernel == $calls.cudaLaunchKernel and
		.step == $repeats.step and .["aten::mm_backward <&|>"] == $repeats["aten::mm_backward <&|>"] and
		.main == null and .load_batch == null' | grep -qx true
	jq -e '.report == "pstats" and .version == 2 and .column == "gpu" and
		(.rows[] | select(.function == "gemm(float*)") | .tottime_percall_ns == .tottime_ns / .ncalls)' got.json
	# Of a part of the recording only what is in that part is known.
	"$SPROF" report --pstats --json --column gpu --ignore load_batch gpu.data |
		jq -e '.rows | map({ (.function): .ncalls }) | add | .step == null and .["gemm(float*)"] == 4'
}

@test "--pstats wants times, and is a table of its own" {
	run "$SPROF" report --pstats kinds.folded
	[ "$status" -eq 1 ]
	[ "$output" = "sprof: cannot print times of 'kinds.folded': count is not a time" ]
	for args in "--pstats --gpu" "--pstats --by module" "--pstats --tree" "--pstats --csv" "-s name"; do
		run "$SPROF" report $args complete.data
		[ "$status" -eq 2 ]
	done
	"$SPROF" report --pstats -n 2 complete.data 2>/dev/null | tail -1 | grep -qx '5 more rows (-n 0 shows all)'
}

@test "--split says what the time of a function ended in, recursion counted once" {
	cat >x.folded <<-'END'
	main (a.py:1);f (a.py:9) 20
	main (a.py:1);f (a.py:9);memcpy 30
	main (a.py:1);f (a.py:9);f (a.py:9);read;sys_read_[k] 10
	main (a.py:1);launch;gemm_[g] 40
	END
	"$SPROF" report --split --json x.folded >got.json
	jq -c '.rows[] | [.function, .total, .python, .native, .kernel, .gpu]' got.json | sort >got
	diff - got <<-'END'
	["all",100,20,30,10,40]
	["f (a.py:9)",60,20,30,10,0]
	["gemm",40,0,0,0,40]
	["launch",40,0,0,0,40]
	["main (a.py:1)",100,20,30,10,40]
	["memcpy",30,0,30,0,0]
	["read",10,0,0,10,0]
	["sys_read",10,0,0,10,0]
	END
	"$SPROF" report --split -s total -n 3 x.folded | tail -5 >got
	diff - got <<-'END'
	Self%  Total%  Total  Python  Native  Kernel  GPU  Function
	   0%    100%    100     20%     30%     10%  40%  all
	   0%    100%    100     20%     30%     10%  40%  main (a.py:1)
	  20%     60%     60     33%     50%     17%   0%  f (a.py:9)
	5 more rows (-n 0 shows all)
	END
	# What there is none of has no column.
	"$SPROF" report --split --ignore '^(launch|read)$' x.folded | grep -q '^Self%  Total%  Total  Python  Native  Function$'
}

@test "--split and the lines of a recording tell the kernel from native code, with names and without" {
	"$SPROF" report --split --json complete.data 2>/dev/null | jq -e '.rows[0] |
		.total == 400400400 and .kernel == 40040040 and .native == 360360360 and .python == 0 and .gpu == 0'
	"$SPROF" lines --json -i complete.data 2>/dev/null |
		jq -e '.ends.kernel == 40040040 and ([.ends[]] | add) == .total'
}

@test "--collapse-noise takes plumbing out of every stack, keeps all time, and what has like names" {
	cat >x.folded <<-'END'
	<module> (run.py:1);_find_and_load (<frozen importlib._bootstrap>:1176);exec_module (<frozen importlib._bootstrap_external>:934);<module> (lib.py:1) 5
	<module> (run.py:1);_find_and_load (<frozen importlib._bootstrap>:1176) 2
	_run_code (<frozen runpy>:65);Module._wrapped_call_impl (module.py:1500);Module._call_impl (module.py:1510);Net.forward (net.py:3) 20
	Module._call_impl (net.py:7);inner (contextlib.py:78);step (train.py:9) 30
	Module.apply (module.py:900);functools.py;wrapper (sgd.py:5) 40
	_call_impl;native (runpy.c:5) 3
	_start;Py_BytesMain;pymain_run_file;PyEval_EvalCode;_PyEval_EvalFrameDefault;step (t.py:1);PyObject_Vectorcall;_PyObject_MakeTpCall;cuLaunchKernel 7
	PyObject_Calls;run_mod;main;PyObjects 8
	HookCaller.__call__ (_caller.py:181);PluginManager._hookexec (_manager.py:174);_multicall (_execution.py:89);run (_execution.py:3) 6
	END
	"$SPROF" fold --collapse-noise x.folded >got
	diff - got <<-'END'
	<module> (run.py:1) 2
	<module> (run.py:1);<module> (lib.py:1) 5
	Module._call_impl (net.py:7);step (train.py:9) 30
	Module.apply (module.py:900);functools.py;wrapper (sgd.py:5) 40
	Net.forward (net.py:3) 20
	_call_impl;native (runpy.c:5) 3
	_start;step (t.py:1);cuLaunchKernel 7
	run (_execution.py:3) 6
	run_mod;main;PyObjects 8
	END
	"$SPROF" report --collapse-noise --json x.folded |
		jq -e '.samples == 121 and .filtered == 0 and ([.rows[].self] | add) == 121 and
			all(.rows[].function; test("frozen|contextlib|module.py:15") | not)'
	"$SPROF" flame --collapse-noise --no-js x.folded >x.svg
	! grep -q 'frozen' x.svg || false
	grep -q 'Net.forward' x.svg
}

phases() { # options: "phase self total", as the table has them
	"$SPROF" report --json "$@" | jq -r '.rows[] | "\(.phase) \(.self) \(.total)"'
}

@test "--phases: the innermost rule has the time, or the one that keeps what it calls" {
	cat >x.folded <<-'END'
	<module> (t.py:1);_find_and_load (<frozen importlib._bootstrap>:1176);<module> (lib.py:1);forward (lib.py:2) 3
	<module> (t.py:1);_BaseDataLoaderIter.__next__ (dataloader.py:600);Crop.forward (crop.py:7) 10
	<module> (t.py:1);Optimizer.step (optimizer.py:300);Lit.training_step (lit.py:9) 2
	<module> (t.py:1);Optimizer.step (optimizer.py:300);Lit.training_step (lit.py:9);Net.forward (net.py:3);mm 20
	<module> (t.py:1);Lit.training_step (lit.py:9);Tensor.backward (_tensor.py:400);checkpoint.forward (c.py:1) 30
	<module> (t.py:1);Optimizer.step (optimizer.py:300);adamw 5
	torch::autograd::Engine::thread_main(x) 7
	<module> (t.py:1);save (serialization.py:400) 1
	<module> (t.py:1);Lit.training_step (lit.py:9);Net.forward (net.py:3);gc_collect_main.constprop.0;subtract_refs 4
	<module> (t.py:1);other (t.py:4);_PyEval_EvalFrameDefault;_Py_RunGC;on_free (t.py:30) 2
	<module> (t.py:1);gc_collector (t.py:4) 22
	END
	phases --phases x.folded >got
	diff - got <<-'END'
	backward 37 37
	forward 20 24
	data loading 10 10
	garbage collection 6 6
	optimizer step 5 27
	import 3 3
	training step 2 56
	checkpoint 1 1
	other 22 22
	END
	# The same, in the words of the table, and of a filtered profile.
	"$SPROF" report --phases -n 1 x.folded | tail -2 | head -1 | grep -qE '^backward +37\+-10 +37 +35% +37 +35%$'
	phases --phases --focus backward x.folded | grep -qx 'other 0 0'
}

@test "--phases takes rules from a file, and says what is wrong with one" {
	printf 'a;b;c 1\na;b 2\na;c;b 4\nd 8\n' >x.folded
	printf '# comment\n\n  outer  =   ^a$  \nkeeps => ^c$\nouter = ^b$\nnever = ^nothing$\n' >rules
	phases --phases=rules x.folded >got
	diff - got <<-'END'
	keeps 5 5
	outer 2 7
	other 8 8
	END
	for bad in 'no rule here' '= a' 'x =' 'x =>' 'x = (' ''; do
		printf '# one\n%s\n' "$bad" >rules
		run "$SPROF" report --phases=rules x.folded
		[ "$status" -eq 1 ]
		[[ $output == "sprof: cannot take the phases from 'rules': "* ]]
		[ -z "$bad" ] || [[ $output == *"line 2: "* ]]
	done
	run "$SPROF" report --phases=absent x.folded
	[ "$status" -eq 1 ]
	[ "$output" = "sprof: cannot read 'absent': No such file or directory" ]
}

@test "--op finds PyTorch's operators on the stacks, with what they call" {
	cat >x.folded <<-'END'
	main;at::_ops::linear::call(at::Tensor const&);at::_ops::linear::redispatch(at::Tensor const&);at::native::linear(x) 1
	main;at::_ops::linear::call(at::Tensor const&);at::_ops::addmm::call(at::Tensor const&);sgemm 20
	main;torch::autograd::generated::AddmmBackward0::apply(x);at::_ops::mm::call(x);gemm_[g] 30
	main;torch::autograd::generated::AddmmBackward0::apply(x) 4
	main;at::_ops::addmm::schema(x);at::_ops_like::x::call() 45
	END
	"$SPROF" report --op --json x.folded | jq -r '.rows[] | "\(.name) \(.self) \(.total)"' >got
	diff - got <<-'END'
	mm 30 30
	addmm 20 20
	AddmmBackward0 4 34
	linear 1 21
	END
	"$SPROF" report --op -s total -n 1 x.folded | grep -qE '^ *4.0% +4 +34% +34 +34\+-9 +AddmmBackward0$'
	# Ranges are counted: they come first, unless a part is asked for.
	"$SPROF" report --op --json gpu.data | jq -e '.rows | any(.name == "aten::addmm" and .calls == 2)'
	run "$SPROF" report --op --focus main gpu.data
	[ "$status" -eq 1 ]
	[[ $output == *"holds no NVTX ranges and no operators of PyTorch"* ]]
}
