#!/bin/sh
# A server whose children heed no SIGTERM, and leave its group in every way unless "stays" is said. A shell, so that a thousand are cheap.
DEAF='trap "" TERM HUP INT; sleep 1000 & wait; sleep 1000'
/bin/sh -c "$DEAF" </dev/null >/dev/null 2>&1 &
away=setsid
[ "$1" != stays ] || away=
$away /bin/sh -c "$DEAF" </dev/null >/dev/null 2>&1 &
($away /bin/sh -c "$DEAF" </dev/null >/dev/null 2>&1 &)

answer() { printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$1"; }

while read -r line; do
  case $line in *'"id":'*) ;; *) continue ;; esac
  id=${line#*\"id\":}
  id=${id%%[,\}]*}
  case $line in
    *'"method":"initialize"'*)
      answer '"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"leaky","version":"1"}}' ;;
    *'"method":"tools/list"'*) answer '"result":{"tools":[{"name":"pid","inputSchema":{"type":"object"}}]}' ;;
    *'"method":"tools/call"'*) answer "\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"$$\"}]}" ;;
    *) answer '"error":{"code":-32601,"message":"no such method"}' ;;
  esac
done
