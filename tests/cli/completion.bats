# sprof completion: the scripts are read by the shells that they are for, and complete a line.

setup() {
	cd "$BATS_TEST_TMPDIR"
}

# Completes the last of the given words in bash and prints what is proposed, one a line.
complete_in_bash() { # WORD...
	bash --norc -c 'source <("$SPROF" completion bash)
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
		_sprof
		printf "%s\n" "${COMPREPLY[@]}"' bash "$@"
}

@test "bash completes commands, options and values" {
	export SPROF
	[ "$(complete_in_bash sprof rep)" = report ]
	[ "$(complete_in_bash sprof record --so)" = --source ]
	[ "$(complete_in_bash sprof record --source '' | xargs)" = "auto ebpf perf timer" ]
	[ "$(complete_in_bash sprof report --sort = t)" = total ]
	[ "$(complete_in_bash sprof record --clock '' | xargs)" = "cpu wall off" ]
	[ "$(complete_in_bash sprof record --gpu-processes '' | xargs)" = "all children rank0" ]
	[ "$(complete_in_bash sprof export -f pst)" = pstats ]
	complete_in_bash sprof record -p '' | grep -qx $$
	touch "$BATS_TEST_TMPDIR/a recording"
	[ "$(complete_in_bash sprof flame -i "$BATS_TEST_TMPDIR/a")" = "$BATS_TEST_TMPDIR/a recording" ]
	# A number can be anything.
	[ -z "$(complete_in_bash sprof record -F '')" ]
}

# bats test_tags=full
@test "every option of every command is in all three scripts" {
	local shell command option
	for shell in bash zsh fish; do
		"$SPROF" completion $shell >script.$shell
	done
	"$SPROF" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z]*\) .*/\1/p' >commands
	[ "$(wc -l <commands)" -gt 16 ]
	for command in $(<commands); do
		"$SPROF" $command --help | grep -oE '^ .{0,6}--[a-z-]+' | grep -oE '[a-z][a-z-]+$' |
			grep -vxE 'help|usage|version' >options || true
		case $command in
		mark | completion) ;; # they have none
		*) [ -s options ] ;;
		esac
		while read -r option; do
			sed -n "/^	$command:\*)/,/esac/p" script.bash | grep -qE -- "--$option[ ']"
			sed -n "/^	$command)/,/ ;;/p" script.zsh | grep -qE -- "--$option(=-?)?\["
			grep -qE "from $command' .*-l $option " script.fish
		done <options
	done
}

@test "every command is in all three scripts" {
	local command
	for shell in bash zsh fish; do
		"$SPROF" completion $shell >script.$shell
	done
	"$SPROF" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z]*\) .*/\1/p' >commands
	grep -qx top commands && grep -qx push commands && grep -qx mark commands && grep -qx completion commands
	export SPROF
	while read -r command; do
		complete_in_bash sprof "$command" | grep -qx "$command"
		grep -qE "^	*'?$command:" script.zsh
		grep -qE -- "-a '?$command'? " script.fish
	done <commands
}

@test "zsh completes commands, options and values" {
	command -v zsh >/dev/null || skip "zsh is not installed"
	mkdir functions
	"$SPROF" completion zsh >functions/_sprof
	cat >complete.zsh <<-'EOT'
		zmodload zsh/zpty
		zpty z zsh -f -i
		zpty -w z 'PS1=; unsetopt zle_bracketed_paste; fpath=(functions $fpath); autoload -Uz compinit; compinit -u -D
		sprof() { print "<<$*>>" }; stty -echo; print ready''y'
		zpty -r z out '*readyy*'
		zpty -w -n z $'sprof repo\t --sort=to\t --colu\t\n'
		zpty -r z out '*>>*'
		print -r -- ${${out##*<<}%%>>*}
		zpty -d z
	EOT
	run timeout 60 zsh -f complete.zsh
	[ "$output" = "report --sort=total --column" ]
}

@test "fish completes commands, options and values" {
	command -v fish >/dev/null || skip "fish is not installed"
	"$SPROF" completion fish >script.fish
	export HOME=$BATS_TEST_TMPDIR
	proposed() { fish --no-config -c "source script.fish; complete -C '$1'" | cut -f1 | xargs; }
	[ "$(proposed 'sprof rep')" = report ]
	[ "$(proposed 'sprof record --so')" = --source ]
	[ "$(proposed 'sprof record --source ')" = "auto ebpf perf timer" ]
}

@test "a shell that is not known is a usage error" {
	run "$SPROF" completion csh
	[ "$status" -eq 2 ]
	[[ $output == *"there is no script for 'csh', only bash, zsh and fish"* ]]
	run "$SPROF" completion
	[ "$status" -eq 2 ]
}
