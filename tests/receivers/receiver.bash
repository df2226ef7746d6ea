# For tests that push: receivers in Python that answer as they are told, fake.py and fake_grpc.py.

RECEIVERS=$(cd "${BASH_SOURCE[0]%/*}" && pwd)

needs_libcurl() {
	ldconfig -p | grep -q 'libcurl\(-gnutls\)\?\.so\.4' || skip "needs libcurl (libcurl4)"
	unset http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY SPROF_PUSH_TOKEN
}

# Starts one that keeps its requests in a folder and answers as the file `mode` there says; sets PORT and FAKE.
start_receiver() { # SCRIPT FOLDER [ARGUMENT...]
	mkdir -p "$2"
	rm -f "$2/port"
	[ -e "$2/mode" ] || echo ok >"$2/mode"
	python3 "$RECEIVERS/$1" "${@:2}" 3>&- &
	FAKE=$!
	for _ in $(seq 200); do
		[ ! -e "$2/port" ] || break
		sleep 0.05
	done
	PORT=$(cat "$2/port")
}
