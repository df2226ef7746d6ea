# Parts of a real CUDA that need no GPU, fetched once and kept outside of the build: $SPROF_TEST_CACHE, else
# ~/.cache/sprof-tests. Each function prints the folder, or fails where there is no network.

CACHE=${SPROF_TEST_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/sprof-tests}

# Runs a command that fills a new folder, and only then gives it its name. Where the command failed after seconds of
# waiting, it is not run again in this run of tests, whose cache holds that mark: a network that does not answer would
# take minutes of every test.
filled() { # name, command...
	local to=$CACHE/$1 new start=$SECONDS unreachable=${XDG_CACHE_HOME:-$BUILD}/unreachable-by-$2
	shift
	if [ ! -e "$to" ]; then
		[ ! -e "$unreachable" ] && mkdir -p "$CACHE" && new=$(mktemp -d "$CACHE/new.XXXXXX") || return 1
		if ! (cd "$new" && "$@") >/dev/null 2>&1 || ! mv -T "$new" "$to" 2>/dev/null; then
			rm -r "$new"
			((SECONDS - start < 5)) || touch "$unreachable"
			[ -e "$to" ] || return 1
		fi
	fi
	echo "$to"
}

unpack_wheel() { # package==version: unpacks it here
	timeout 60 python3 -m pip -q --retries 1 --timeout 10 download --no-deps --only-binary :all: -d download "$1" &&
		python3 -m zipfile -e download/*.whl . && rm -r download &&
		find . -path './nvidia/*' -type f -name 'lib*' ! -name 'libcupti.so*' -delete # most of the bytes
}

wheel() { # package, version
	filled "$1-$2" unpack_wheel "$1==$2"
}

# Keeps of wheels what a compiler needs, here.
unpack_headers() { # package==version...
	timeout 400 python3 -m pip -q --retries 1 --timeout 10 download --no-deps --only-binary :all: -d download "$@" &&
		python3 -c 'import glob, zipfile
for wheel in map(zipfile.ZipFile, glob.glob("download/*.whl")):
    wheel.extractall(members=[n for n in wheel.namelist() if "/include/" in n])' && rm -r download
}

# The headers of cuBLAS, of the CUDA runtime that they include, and of cuDNN (a download of 500 MB, of which 6 are kept).
math_headers() {
	filled math-headers-13.1.0.3-9.27.0.42 unpack_headers nvidia-cublas==13.1.0.3 nvidia-cuda-runtime==13.0.96 nvidia-cudnn-jit-cu13==9.27.0.42
}

# The folder of what reads traces of torch.profiler, for PYTHONPATH (400 MB): Holistic Trace Analysis, the plugin of
# TensorBoard, and those of their dependencies that reading takes.
install_trace_readers() {
	timeout 300 python3 -m pip -q --retries 1 --timeout 15 install --no-deps --only-binary :all: --target . \
		HolisticTraceAnalysis==0.5.0 torch_tb_profiler==0.4.3 networkx==3.4.2 numpy==1.26.4 packaging==24.2 pandas==2.2.3 \
		plotly==5.24.1 psutil==6.1.1 pydot==3.0.4 pyparsing==3.2.1 python-dateutil==2.9.0.post0 pytz==2024.2 pyyaml==6.0.2 \
		six==1.17.0 tenacity==9.0.0 tzdata==2024.2
}

trace_readers() {
	filled "trace-readers-$(python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')" install_trace_readers
}

# Debian packages, from the archive that this machine has its own packages from.
unpack_debs() { # component, package...
	local archive=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(COMPONENT)' 'Created-By: Packages' | awk '$3 == "main" { print $1, $2; exit }')
	local options=(-o Dir::Etc::sourcelist="$PWD/sources" -o Dir::Etc::sourceparts=- -o Dir::State::lists="$PWD/lists" -o Dir::Cache="$PWD/apt" -o APT::Sandbox::User=root)
	local component=$1 deb
	shift
	[ -n "$archive" ] || return 1
	mkdir -p lists/partial apt/archives/partial
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $archive $component" >sources
	timeout 60 apt-get "${options[@]}" -qq update && timeout 600 apt-get "${options[@]}" -qq download "$@" || return 1
	for deb in *.deb; do
		dpkg-deb -x "$deb" . && rm "$deb" || return 1
	done
	rm -rf lists apt sources
}

# The folder of Debian's gloo, headers included (1 MB).
debian_gloo() {
	[ "$(uname -m)" = x86_64 ] && filled debian-gloo unpack_debs main libgloo0 libgloo-dev libhiredis0.14 libibverbs1 \
		libnl-3-200 libnl-route-3-200
}

# Debian's PyTorch and all that it needs, but for Python and the C library.
unpack_torch() {
	local packages
	packages=$(apt-get install -s --no-install-recommends python3-torch | awk '/^Inst/ && $2 !~ /^(python3|libpython3|libc6)/ || /^Inst python3-/ { print $2 }')
	[ -n "$packages" ] && unpack_debs main $packages
}

debian_torch() {
	[ "$(uname -m)" = x86_64 ] && filled debian-torch unpack_torch
}

torch_libraries() { # folder
	local l=usr/lib/x86_64-linux-gnu
	echo "$1/$l:$1/usr/lib:$1/$l/blas:$1/$l/lapack"
}

# The folder of a real libcuda.so.1 (29 MB), which cannot work without a GPU, but loads what is to be injected.
real_driver() {
	local at
	[ "$(uname -m)" = x86_64 ] && at=$(filled libcuda1 unpack_debs non-free libcuda1) || return 1
	echo "$at/usr/lib/x86_64-linux-gnu/nvidia/current"
}

# The folder of a libcupti, for instance nvidia-cuda-cupti-cu12 12.9.79.
real_cupti() { # package, version
	local at
	at=$(wheel "$1" "$2") && dirname "$at"/nvidia/*/lib/libcupti.so.1*
}

# All versions that sprof is tested with, a line for each.
real_cupti_versions() {
	cat <<-'END'
		nvidia-cuda-cupti-cu11 11.8.87
		nvidia-cuda-cupti-cu12 12.1.105
		nvidia-cuda-cupti-cu12 12.9.79
		nvidia-cuda-cupti 13.0.85
		nvidia-cuda-cupti 13.5.25
	END
}
