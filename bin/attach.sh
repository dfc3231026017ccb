#!/bin/sh
# Carries the lines of a client to the socket of a gateway, with socat in place of Node: gateway attach --print-shim.
#
#   sh attach.sh <socket> <profile> <label> <command…>
#
# Where it cannot, as no gateway runs or socat is missing, it becomes the command, which is gateway attach. It keeps
# nothing of the session, so it ends when the gateway does.
socket=$1 profile=$2 label=$3
shift 3

# The same that src/transport/unix-sockets.ts looks at: nobody else could have put this socket here.
is_ours() {
  directory=${socket%/*}
  [ ! -L "$directory" ] && [ -O "$directory" ] && [ ! -L "$socket" ] && [ -S "$socket" ] && [ -O "$socket" ] || return 1
  case $(ls -ld "$directory") in d????-??-*) ;; *) return 1 ;; esac
}

# Names that socat would read as something else are left to the command.
case $socket in *[!A-Za-z0-9/._-]*) exec "$@" ;; esac
command -v socat >/dev/null 2>&1 && is_ours && socat -u OPEN:/dev/null "UNIX-CONNECT:$socket" 2>/dev/null || exec "$@"

# A directory with such a name could say more than where it is.
cwd=$PWD
case $cwd in *[\"\\[:cntrl:]]*) cwd= ;; esac
hello='{"attach":{"quiet":true'${cwd:+",\"cwd\":\"$cwd\""}${profile:+",\"profile\":\"$profile\""}${label:+",\"label\":\"$label\""}'}}'

# Without the signal, this shell would wait for the client's next line when the gateway has gone.
{ printf '%s\n' "$hello" && exec cat; } 2>/dev/null | { socat -b 65536 -t 2 - "UNIX-CONNECT:$socket"; kill $$ 2>/dev/null; }
