#!/usr/bin/env bash
# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: GPL-3.0-or-later
# How long the workbench takes to show its window, and how long its event loop stalls during evaluations with a theme
# switch, the dialogs and the compare view between them; the real program and worker under Xvfb, driven by keys.
# bench/window.sh [--build DIR] [--evaluations N (20)] [--starts N (5)] [--report FILE]
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/build/dev evaluations=20 starts=5 report=''
while [ $# -gt 0 ]; do
    case $1 in
    --build) build=$2; shift 2 ;;
    --evaluations) evaluations=$2; shift 2 ;;
    --starts) starts=$2; shift 2 ;;
    --report) report=$2; shift 2 ;;
    *) sed -n '4,6s/^# //p' "$0"; exit 2 ;;
    esac
done
for tool in Xvfb openbox xdotool sqlite3; do command -v $tool >/dev/null || { echo "missing: $tool"; exit 3; }; done
work=$(mktemp -d)
export HOME=$work/home XDG_DATA_HOME=$work/data XDG_CONFIG_HOME=$work/config
export XDG_CACHE_HOME=${LATHE_DRIVE_CACHE:-${XDG_CACHE_HOME:-$work/cache}} QT_QPA_PLATFORM=xcb QT_SCALE_FACTOR=1
mkdir -p "$HOME"
app=''
read_display() { local n; read -r n <"$work/display"; echo ":$n"; }
mkfifo "$work/display"
Xvfb -displayfd 3 -screen 0 1680x1050x24 -nolisten tcp 3>"$work/display" >/dev/null 2>&1 & server=$!
DISPLAY=$(read_display); export DISPLAY
trap '[ -z "$app" ] || kill -9 $app 2>/dev/null; kill $server ${manager:-} 2>/dev/null; rm -rf "$work"' EXIT
openbox >/dev/null 2>&1 & manager=$!
sleep 1.5
ask() { sqlite3 -readonly -cmd '.timeout 5000' "$work/workspace/lathe.sqlite" "$1" 2>/dev/null || true; }
keys() { xdotool key --clearmodifiers --delay 40 "$@"; }
until_is() { # SECONDS QUERY VALUE
    local begin=$SECONDS
    until [ "$(ask "$2")" = "$3" ]; do
        [ $((SECONDS - begin)) -lt "$1" ] || { echo "gave up on: $2 = $3"; tail -5 "$work/log"; exit 1; }
        sleep 0.2
    done
}
start() {
    "$build/bin/lathe-workbench" --workspace "$work/workspace" "$@" >"$work/log" 2>&1 & app=$!
    until grep -q 'window shown' "$work/log"; do kill -0 $app || { cat "$work/log"; exit 1; }; sleep 0.1; done
}
quit() { keys ctrl+q; wait $app || true; app=''; }

for ((i = 0; i < starts; ++i)); do
    start --startup-time --task starter/rmsnorm_residual
    sed -n 's/^window shown/start '$i': window shown/p' "$work/log"
    sleep 2
    quit
done
start --startup-time --task starter/rmsnorm_residual --stall-report "$work/stalls.json"
sleep 2
xdotool search --onlyvisible --pid $app --name Lathe windowactivate --sync windowsize 1680 1050 || true
sleep 1
keys ctrl+shift+p; sleep 0.5; xdotool type --delay 20 shipped; sleep 0.3; keys Return
until_is 20 "select count(*)>0 from candidates where author='import'" 1
sleep 1
keys ctrl+3 Home; sleep 1
# A verdict of the quick tier is enough: its full tier goes on under what follows and the next F5 supersedes it.
for ((i = 1; i <= evaluations; ++i)); do
    keys ctrl+1 ctrl+End
    xdotool type --delay 15 "// edit $i"; keys Return
    sleep 0.3
    known=$(ask 'select count(*) from candidates')
    keys F5
    until_is 90 "select count(*) from evaluations where verdict<>'' and candidate=(select id from candidates where number=$known+1)" 1
    case $((i % 5)) in
    1) keys ctrl+shift+l; sleep 0.5; keys ctrl+shift+l; sleep 0.5 ;;
    2) keys ctrl+d; sleep 0.5; keys alt+Down alt+Up ctrl+d; sleep 0.3 ;;
    3) keys ctrl+6; sleep 0.3; keys ctrl+7; sleep 0.3; keys ctrl+8; sleep 0.3; keys ctrl+5 ;;
    4) keys ctrl+i; sleep 0.5; keys Escape; sleep 0.8; keys F1; sleep 0.5; keys Escape; sleep 0.8 ;;
    0) keys ctrl+shift+e; sleep 0.5; keys Escape; sleep 0.8; keys ctrl+Return; sleep 0.5; keys Escape; sleep 0.8 ;;
    esac
done
echo "evaluations: $(ask "select count(*), group_concat(distinct verdict) from evaluations where verdict<>''")"
quit
[ -z "$report" ] || cp "$work/stalls.json" "$report"
python3 - "$work/stalls.json" <<'PY'
import json, sys
r = json.load(open(sys.argv[1]))
print("longest stall %.1f ms (own %.1f), %d over 50 ms (own %d) of %d beats; loop began after %.0f ms" % (
    r["longestMs"], r["longestOwnMs"], r["over50Ms"], r["over50OwnMs"], r["samples"], r["startMs"]))
for s in sorted(r["over50"], key=lambda s: -s["ms"])[:20]:
    own = [f for f in s["stack"] if "lathe::" in f]
    print("  at %6d ms: %6.1f ms, %6.1f on the core, %6.1f waiting for one: %s; %s" % (
        s["atMs"], s["ms"], s["cpuMs"], s["queuedMs"], s["cause"], (own or s["stack"] or ["?"])[0][:110]))
PY
