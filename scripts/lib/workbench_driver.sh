# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# To be sourced by a script that uses the real workbench under Xvfb: a display and a workspace of its own, both gone at
# the end, and functions that click, type, look and assert. Before: root, build, shots (empty: none), keep (yes or no).
# Ends the script with 77 where something is missing. LATHE_DRIVE_PATIENCE=N waits N times as long.
program=$build/bin/lathe-workbench
for tool in Xvfb openbox xdotool sqlite3 import compare python3; do
    command -v $tool >/dev/null || { echo "skipped: $tool is not installed"; exit 77; }
done
[ -x "$program" ] || { echo "skipped: $program is not built"; exit 77; }
work=$(mktemp -d)
app='' manager='' xserver='' passed=0
finish() {
    for child in $manager $xserver; do kill "$child" 2>/dev/null || true; done
    [ -n "$app" ] && kill -9 "$app" 2>/dev/null || true
    if [ $keep = yes ]; then echo "kept: $work"; else rm -rf "$work"; fi
}
trap finish EXIT
workspace=$work/workspace
export HOME=$work/home XDG_DATA_HOME=$work/data XDG_CONFIG_HOME=$work/config XDG_CACHE_HOME=${LATHE_DRIVE_CACHE:-$work/cache} QT_SCALE_FACTOR=1
mkdir -p "$HOME" "$XDG_DATA_HOME" "$XDG_CONFIG_HOME/openbox"
# No title bar: the window is the screen.
cat >"$XDG_CONFIG_HOME/openbox/rc.xml" <<'XML'
<openbox_config xmlns="http://openbox.org/3.4/rc">
  <applications><application name="lathe-workbench" type="normal"><decor>no</decor></application></applications>
</openbox_config>
XML
# A second task, so that the list has something to choose from.
mkdir -p "$work/tasks"
cp -r "$root/tasks/starter" "$work/tasks/starter"
cp -r "$root/tasks/starter/rmsnorm_residual" "$work/tasks/starter/another_task"
export LATHE_TASKS=$work/tasks
# The server says itself which display is free.
mkfifo "$work/display"
Xvfb -displayfd 3 -screen 0 1680x1050x24 -nolisten tcp 3>"$work/display" >/dev/null 2>&1 & xserver=$!
read -r number <"$work/display"
export DISPLAY=:$number
openbox >/dev/null 2>&1 & manager=$!
sleep 1.5 # a window that comes before its manager gets no focus

say() { echo "==> $* (${SECONDS} s)"; }
ok() { passed=$((passed + 1)); echo "  ok: $*"; }
die() {
    echo "  FAILED: $*" >&2
    import -window root "$work/failed.png" 2>/dev/null && cp "$work/failed.png" "${TMPDIR:-/tmp}/drive_workbench-failed.png" || true
    tail -20 "$work/log" >&2 || true
    echo "$passed passed, 1 failed"
    exit 1
}
ask() { sqlite3 -readonly -cmd '.timeout 5000' "$workspace/lathe.sqlite" "$1" 2>/dev/null || true; }
# wait_for SECONDS WHAT COMMAND...: until the command succeeds
wait_for() {
    local limit=$(($1 * ${LATHE_DRIVE_PATIENCE:-1})) what=$2 begin=$SECONDS
    shift 2
    until "$@" >/dev/null 2>&1; do
        [ $((SECONDS - begin)) -ge "$limit" ] && die "$what (waited $limit s)"
        kill -0 "$app" 2>/dev/null || [ "$what" = "the program ends" ] || die "the program ended while waiting for: $what"
        sleep 0.2
    done
    ok "$what"
}
is() { [ "$(ask "$1")" = "$2" ]; }
at_least() { [ "$(ask "$1")" -ge "$2" ] 2>/dev/null; }
gone() { ! kill -0 "$1" 2>/dev/null; }
keys() { xdotool key --clearmodifiers --delay 60 "$@"; }
# xdotool's own newline can be lost in an editor: Return is a key of its own.
write() {
    xdotool type --clearmodifiers --delay 20 "${1%$'\n'}"
    case $1 in *$'\n') keys Return ;; esac
}
click() { xdotool mousemove --sync "$1" "$2" sleep 0.1 click "${3:-1}"; sleep 0.3; }
away() { xdotool mousemove 1679 1049; sleep 0.6; }
# look: what is visible now, in $work/widgets.json
look() {
    rm -f "$work/widgets.json"
    kill -USR1 "$app" || return 1
    for _ in $(seq $((50 * ${LATHE_DRIVE_PATIENCE:-1}))); do
        [ -s "$work/widgets.json" ] && return 0
        sleep 0.1
    done
    return 1
}
# widget centre|rect|name|value ROLE NAME [STATE], as find_widget.py
widget() { look && python3 "$root/scripts/lib/find_widget.py" "$work/widgets.json" "$@"; }
visible() { widget name "$@" >/dev/null; }
# click_on ROLE NAME [STATE]: waits until it is there
click_on() {
    local place='' begin=$SECONDS
    until place=$(widget centre "$@"); do
        [ $((SECONDS - begin)) -ge $((15 * ${LATHE_DRIVE_PATIENCE:-1})) ] && die "nothing to click: $*"
        sleep 0.3
    done
    # shellcheck disable=SC2086
    click $place
}
# region NAME X Y W H: that part of the screen, as a file
region() { import -window root -crop "$4x$5+$2+$3" +repage "$work/$1.png"; }
# How many pixels of two regions differ.
apart() { compare -metric AE "$work/$1.png" "$work/$2.png" null: 2>&1 | sed 's/[^0-9].*//' || true; }
colour_at() { import -window root -depth 8 -crop "1x1+$1+$2" +repage txt:- | grep -o '#[0-9A-Fa-f]\{6\}' | head -1 | tr 'A-F' 'a-f'; }
is_colour() { [ "$(colour_at "$1" "$2")" = "$3" ]; }
# kernel_of CANDIDATE: its kernel file's text, from the workspace
kernel_of() {
    local blob
    blob=$(ask "select json_extract(f.value,'\$.blob') from candidates c, json_each(c.files) f where c.id='$1' and json_extract(f.value,'\$.path') like 'kernels/%' limit 1")
    [ -n "$blob" ] && cat "$workspace/blobs/${blob:0:2}/$blob"
}
newest_id() { ask 'select id from candidates order by number desc limit 1'; }
shot() {
    [ -n "$shots" ] || return 0
    mkdir -p "$shots"
    away
    import -window root "$shots/$1.png"
}
title() { xdotool getwindowname "$(xdotool getactivewindow)" | grep -q "$1"; }
start() {
    "$program" --workspace "$workspace" --widget-report "$work/widgets.json" "$@" >"$work/log" 2>&1 & app=$!
    wait_for 30 "the window is there" xdotool search --onlyvisible --pid $app --name Lathe
    window=$(xdotool search --onlyvisible --pid $app --name Lathe | tail -1)
    xdotool windowactivate --sync "$window" windowmove "$window" 0 0 windowsize "$window" 1680 1050 || true
}
