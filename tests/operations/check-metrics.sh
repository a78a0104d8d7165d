#!/bin/sh
# check-metrics.sh BUILD TOP - what the daemon exposes is clean, and the alerts and the dashboard ask for nothing else: by
# their names, by promtool, and by a Prometheus that scrapes a daemon. 77: without Prometheus only the names were checked.
set -eu
build=$(realpath "$1")
top=$(realpath "$2")
. "$top/tests/support/serve.sh"
scratch=$(mktemp -d)
daemon= prometheus=
trap 'kill $daemon $prometheus 2>/dev/null || :; wait; rm -rf "$scratch"' EXIT
fail() { echo "$*" >&2; exit 1; }

# ---- names -----------------------------------------------------------------------------------------

sed -n 's/^SV_METRIC([A-Z_]*, "\([a-z_]*\)", \([A-Z]*\),.*/\1 \2/p' "$top/server/core/metrics.def" |
    awk '{ print $1 }
         $2 != "COUNTER" && $2 != "GAUGE" { print $1 "_bucket"; print $1 "_sum"; print $1 "_count" }' >"$scratch/exposed"
[ "$(wc -l <"$scratch/exposed")" -gt 40 ] || fail "metrics.def was not understood"
for file in conf/prometheus/alerts.yml conf/grafana/dashboard.json; do
    grep -o '\b\(sluice\|http\|process\)_[a-z_]*[a-z]\b' "$top/$file" | sort -u >"$scratch/used"
    [ "$(wc -l <"$scratch/used")" -gt 5 ] || fail "no metrics found in $file"
    ! grep -vxF -f "$scratch/exposed" "$scratch/used" || fail "$file names metrics that do not exist"
done
grep -o 'alert: [A-Za-z]*' "$top/conf/prometheus/alerts.yml" | cut -d' ' -f2 | while read -r alert; do
    grep -q "\`$alert\`" "$top/docs/operations.md" || fail "docs/operations.md does not explain $alert"
done

# Every query of the dashboard, for all models and instances.
python3 - "$top/conf/grafana/dashboard.json" >"$scratch/queries" <<'END'
import json, sys
dashboard = json.load(open(sys.argv[1]))
for panel in dashboard["panels"]:
    for target in panel.get("targets", []):
        query = target["expr"].replace("$job", "sluice").replace("$__rate_interval", "1m")
        print(query.replace("$instance", ".*").replace("$model", ".*"))
END
[ "$(wc -l <"$scratch/queries")" -gt 20 ] || fail "no queries found in the dashboard"

# ---- promtool --------------------------------------------------------------------------------------

for tool in promtool prometheus; do
    command -v $tool >/dev/null || { echo "SKIPPED: $tool is not installed (Debian: prometheus)"; exit 77; }
done
cp "$top/conf/prometheus/"* "$top/tests/operations/alerts_test.yml" "$scratch"
(cd "$scratch" && promtool check config prometheus.yml && promtool test rules alerts_test.yml) >"$scratch/log" 2>&1 ||
    { cat "$scratch/log" >&2; exit 1; }

serve "$build/sluiced" "$scratch/port" --config "$top/conf/run.yaml" --store "$top/models" --state "$scratch/state" --admin-listen ""
ctl="$build/sluicectl --url http://127.0.0.1:$port"
$ctl bench --model shakespeare --connections 4 --requests 8 --tokens 4 >"$scratch/log"
echo "A lovely film." >"$scratch/texts"
$ctl bench --classify "$scratch/texts" --connections 4 --seconds 0.2 >"$scratch/log"
curl -s -o /dev/null "http://127.0.0.1:$port/predict" -H 'Content-Type: application/json' -d '{"inputs":7}'
curl -s -o /dev/null "http://127.0.0.1:$port/v2/models/absent/infer" -H 'Content-Type: application/json' -d '{}'
curl -s "http://127.0.0.1:$port/metrics" >"$scratch/metrics"
promtool check metrics <"$scratch/metrics" >"$scratch/log" 2>&1 && [ ! -s "$scratch/log" ] ||
    { cat "$scratch/log" >&2; fail "promtool check metrics complains"; }

# ---- a Prometheus ----------------------------------------------------------------------------------

sed -i "s/127.0.0.1:8080/127.0.0.1:$port/; s/_interval: 15s/_interval: 1s/" "$scratch/prometheus.yml"
listen=127.0.0.1:$(free_port)
prometheus --config.file "$scratch/prometheus.yml" --storage.tsdb.path "$scratch/data" --web.listen-address "$listen" \
    >"$scratch/prometheus.log" 2>&1 &
prometheus=$!
# ask QUERY - the result as JSON
ask() { curl -s "http://$listen/api/v1/query" --data-urlencode "query=$1"; }
is_up() { ask 'up{job="sluice"}' | grep -q '"value":\[[0-9.]*,"1"\]'; }
wait_until 300 is_up || { cat "$scratch/prometheus.log" >&2; fail "Prometheus does not scrape the daemon"; }
rules_are_loaded() {
    curl -s "http://$listen/api/v1/rules" >"$scratch/rules"
    ! grep -q '"health":"unknown"' "$scratch/rules" && grep -q '"health":"ok"' "$scratch/rules"
}
wait_until 300 rules_are_loaded || fail "the rules are not evaluated: $(cat "$scratch/rules")"
! grep -o '"health":"err[^}]*' "$scratch/rules" || fail "a rule fails"
# rate() wants two scrapes.
wait_until 100 sh -c "curl -s 'http://$listen/api/v1/query?query=count_over_time(up%5B1m%5D)' | grep -q '\"[2-9][0-9]*\"'" ||
    fail "there was one scrape only"
while read -r query; do
    ask "$query" >"$scratch/result"
    grep -q '"status":"success"' "$scratch/result" || fail "the dashboard's query fails: $query: $(cat "$scratch/result")"
    case $query in *throttled* | *sluice_train_[lt]o*) continue ;; esac # only where there is a limit, or a job
    ! grep -q '"result":\[\]' "$scratch/result" || echo "$query" >>"$scratch/empty"
done <"$scratch/queries"
if [ -s "$scratch/empty" ]; then
    cat "$scratch/empty" >&2
    fail "these queries of the dashboard find nothing"
fi
echo "$(wc -l <"$scratch/queries") queries of the dashboard find what they ask for"
