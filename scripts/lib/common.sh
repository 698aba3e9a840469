# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
# Shared by scripts/run, scripts/test and .ci/run: set-up from a bare machine to a built tree, each step idempotent.
# Sourced, never run. Sets: root, build, python.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$root/build/${LATHE_PRESET:-dev}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/lathe
python=${LATHE_PYTHON:-}
install=yes
jobs=${LATHE_JOBS:-$(nproc)}
export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1

say() { printf '\033[1m==>\033[0m %s\n' "$*" >&2; }
die() { printf 'error: %s\n' "$1" >&2; [ -n "${2:-}" ] && printf '  how to go on: %s\n' "$2" >&2; exit 3; }

# One line per wanted package, alternatives resolved, missing ones only.
missing_packages() {
    local line choice installed
    installed=$(dpkg-query -W -f='${Package} ${db:Status-Status}\n' 2>/dev/null | awk '$2=="installed"{print $1}')
    while read -r line; do
        case $line in ''|'#'*) continue ;; esac
        local have='' first=''
        for choice in ${line//|/ }; do
            if grep -qx -- "$choice" <<<"$installed"; then have=$choice; break; fi
        done
        [ -n "$have" ] && continue
        case $line in *'|'*) ;; *) echo "$line"; continue ;; esac
        for choice in ${line//|/ }; do
            if apt-cache show --no-all-versions "$choice" >/dev/null 2>&1; then first=$choice; break; fi
        done
        echo "${first:-${line%%|*}}"
    done <"$root/scripts/lib/packages.txt"
}

install_packages() {
    command -v dpkg-query >/dev/null || die "this set-up knows Debian 12 and Ubuntu 24.04 only" \
        "install the packages named in scripts/lib/packages.txt with your own package manager, then start again with LATHE_SKIP_PACKAGES=1"
    local want as_root=''
    want=$(missing_packages)
    [ -z "$want" ] && return 0
    if [ "$install" = no ]; then
        echo "would install from the distribution (about 350 MB to download):"
        echo "$want" | tr '\n' ' '
        echo
        return 0
    fi
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || die "packages are missing and neither root nor sudo is at hand" \
            "as root: apt-get install $(echo "$want" | tr '\n' ' ')"
        as_root=sudo
    fi
    say "installing $(echo "$want" | wc -l) packages from the distribution (about 350 MB, half a minute on a fast line)"
    $as_root apt-get update -q >&2 || die "apt-get update failed" "check the network, then start again"
    want=$(missing_packages) # a fresh list can resolve other alternatives
    # shellcheck disable=SC2086
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $want >&2 \
        || die "apt-get install failed" "mend what it says above, then start again: finished steps are not repeated"
}

usable_torch() { [ -x "$1" ] && "$1" -c 'import torch, tvm_ffi' >/dev/null 2>&1; }

# The environment: named by the caller, else an active one with torch, else our own, shared by every clone with the same
# pinned requirements.
find_python() {
    if [ -n "$python" ]; then
        usable_torch "$python" || die "$python cannot import torch and tvm_ffi" \
            "install the packages of requirements/worker.txt into it, or leave --python and LATHE_PYTHON away"
        return 0
    fi
    if [ -n "${VIRTUAL_ENV:-}" ] && usable_torch "$VIRTUAL_ENV/bin/python"; then
        python=$VIRTUAL_ENV/bin/python
        return 0
    fi
    local version name
    version=$(/usr/bin/python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null || echo 3)
    name=$( (cat "$root/requirements/worker.txt"; echo "python $version") | sha256sum | cut -c1-16)
    python=$cache/env-$name/bin/python
    [ -e "$cache/env-$name/complete" ] && return 0
    if [ "$install" = no ]; then
        echo "would make a Python environment with PyTorch in $cache/env-$name (about 2.5 GB to download, 5 GB on disk)"
        return 0
    fi
    mkdir -p "$cache"
    exec 9>"$cache/env-$name.lock"
    flock 9 # two clones set up at once: the second waits and finds it made
    if [ ! -e "$cache/env-$name/complete" ]; then
        local free
        free=$(df -Pk "$cache" | awk 'NR==2{print int($4/1048576)}')
        [ "$free" -ge 7 ] || die "$cache has $free GiB free, PyTorch needs 7" "free some space or set XDG_CACHE_HOME to a larger disk"
        say "making a Python environment with PyTorch in $cache/env-$name (about 2.5 GB to download, 5 GB on disk, 2 to 10 minutes)"
        if ! usable_torch "$python"; then
            rm -rf "$cache/env-$name"
            /usr/bin/python3 -m venv "$cache/env-$name" || die "python3 -m venv failed" "apt-get install python3-venv"
            "$python" -m pip install -q --no-cache-dir --disable-pip-version-check -r "$root/requirements/worker.txt" >&2 \
                || die "pip could not install requirements/worker.txt" "check the network and the disk, then start again"
        fi
        usable_torch "$python" || die "the new environment cannot import torch" "run: $python -c 'import torch, tvm_ffi'"
        touch "$cache/env-$name/complete"
    fi
    exec 9>&-
}

setup_stamp() {
    (cat "$root/scripts/lib/packages.txt" "$root/requirements/worker.txt"; echo "$root $python") | sha256sum | cut -c1-16
}

# setup: everything up to a configured tree. Fast when nothing changed.
setup() {
    if [ "$install" = yes ] && [ -z "${LATHE_FORCE_SETUP:-}" ] && [ -r "$build/setup-complete" ]; then
        local kept_python kept_stamp
        { read -r kept_stamp; read -r kept_python; } <"$build/setup-complete"
        if [ -z "$python" ] || [ "$python" = "$kept_python" ]; then
            local asked=$python
            python=$kept_python
            if [ -x "$python" ] && [ "$(setup_stamp)" = "$kept_stamp" ]; then return 0; fi
            python=$asked
        fi
    fi
    [ -n "${LATHE_SKIP_PACKAGES:-}" ] || install_packages
    find_python
    if [ "$install" = no ]; then
        echo "would configure and build in $build (about 5 minutes on two cores)"
        exit 0
    fi
    say "configuring in $build"
    (cd "$root" && cmake --preset "${LATHE_PRESET:-dev}" -DLATHE_PYTHON="$python" >"$root/build/configure.log" 2>&1) || {
        tail -n 25 "$root/build/configure.log" >&2
        die "the configuration failed; its log is build/configure.log" "mend what it says above, then start again"
    }
    { setup_stamp; echo "$python"; } >"$build/setup-complete"
}

# compile TARGET...: says so only when there is work to do. Looking at globbed folders again is none.
compile() {
    local work
    work=$(ninja -C "$build" -n "$@" 2>/dev/null | grep '^\[' | grep -vE 'Re-checking globbed|Re-running CMake' || true)
    if [ -n "$work" ]; then
        say "building (about 5 minutes on two cores the first time)"
    fi
    nice -n 5 ninja -C "$build" -j "$jobs" "$@" >"$build/build.log" 2>&1 || {
        grep -E 'error|FAILED|Error' "$build/build.log" | head -n 30 >&2
        die "the build failed; its log is $build/build.log" "mend what it says above, then start again"
    }
}
