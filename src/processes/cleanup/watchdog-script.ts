/**
 * What the watchdog runs, in any POSIX shell. `$1` is what the marks of this run begin with. It reads `+ pid start`,
 * `- pid start` and `.`; at the end of its input without a `.` the gateway is dead. Servers have then lost their stdin
 * and get a moment, SIGTERM and another moment; then SIGKILL goes out until two looks in a row have found nothing.
 * A group is left alone when its number has a new leader.
 */
export const WATCHDOG_SCRIPT = `
trap '' HUP INT QUIT TERM PIPE TSTP TTIN TTOU
mark=$1
groups=
while read -r sign pid start; do
  case $sign in
    +) groups="$groups $pid:$start" ;;
    -)
      kept=
      for group in $groups; do [ "$group" = "$pid:$start" ] || kept="$kept $group"; done
      groups=$kept
      ;;
    .) exit 0 ;;
  esac
done

started() {
  [ -r "/proc/$1/stat" ] || return 1
  read -r stat 2>/dev/null <"/proc/$1/stat" || return 1
  set -- \${stat##*) }
  shift 19 2>/dev/null || return 1
  now=$1
}

strike() {
  found=
  for group in $groups; do
    pid=\${group%:*}
    if started "$pid" && [ "$now" != "\${group#*:}" ]; then continue; fi
    kill -s "$1" -- "-$pid" 2>/dev/null && found=1
  done
  [ -e /proc/self/environ ] || return 0
  for file in $(grep -lszF -- "$mark" /proc/[0-9]*/environ 2>/dev/null); do
    pid=\${file#/proc/}
    kill -s "$1" "\${pid%/environ}" 2>/dev/null && found=1
  done
}

rest() { sleep "$1" 2>/dev/null || sleep 1; }

rest 0.2
strike TERM
[ -z "$found" ] || rest 0.4
quiet=0
for round in 1 2 3 4 5 6 7 8 9 10 11 12; do
  strike KILL
  if [ -z "$found" ]; then quiet=$((quiet + 1)); else quiet=0; fi
  [ "$quiet" -lt 2 ] || exit 0
  rest 0.05
done
`
