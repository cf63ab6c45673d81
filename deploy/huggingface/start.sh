#!/bin/bash
# Caddy takes what comes to the one port of the container; participants' server and console listen behind it. If one of
# them ends, all do, so that the host starts the container again.
set -euo pipefail
litestream restore -config litestream.yml -if-db-not-exists -if-replica-exists /data/parley.db
[ ! -e /data/parley.db ] || parley db migrate # does something only after an update of Parley

stop() { # once: at a second signal Litestream would end without its last copy
  [ -z "${stopping:-}" ] || return 0
  stopping=yes
  kill -TERM $(jobs -p) 2> /dev/null || true
}
trap stop TERM INT
caddy run --config Caddyfile --adapter caddyfile &
litestream replicate -config litestream.yml -exec "parley up --no-browser" &
wait -n || true
stop
wait
