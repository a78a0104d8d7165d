#!/bin/sh
# kubeconform.sh BUILD TOP - kubeconform finds the manifests for Kubernetes valid, in an old and a new version, and a spoilt
# one invalid. Without kubeconform, Go builds it; the schemas are those of the Python package kubernetes-validate. Both are
# kept in BUILD/kubeconform. 77: they are not to be had.
set -eu
build=$(realpath "$1")
top=$(realpath "$2")
kept=$build/kubeconform
. "$top/tests/third_party_clients/venv.sh"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() { echo "$*" >&2; exit 1; }

PATH=$PATH:$kept/bin
if ! command -v kubeconform >"$scratch/log"; then
    command -v go >"$scratch/log" || skip "neither kubeconform nor Go is installed"
    GOBIN=$kept/bin timeout 200 go install github.com/yannh/kubeconform/cmd/kubeconform@v0.7.0 >"$scratch/log" 2>&1 ||
        skip "Go cannot build kubeconform: $(tail -n 1 "$scratch/log")"
fi
venv "$kept/schemas" kubernetes-validate==1.37.0

# validate VERSION FILE... - KServe's own kinds have no schema there.
validate() {
    schemas=$(echo "$kept"/schemas/lib/python3*/site-packages/kubernetes_validate/kubernetes-json-schema)/v$1.0-local-strict
    shift
    for schema in _definitions configmap-v1 service-v1 persistentvolumeclaim-v1 deployment-apps-v1 \
        poddisruptionbudget-policy-v1 horizontalpodautoscaler-autoscaling-v2; do
        # kubeconform gives up if a schema names another by an absolute address.
        sed 's#"/api/_definitions.json\##"_definitions.json\##; s#"$schema": "[^"]*",##' "$schemas/$schema.json" >"$scratch/$schema.json"
    done
    kubeconform -strict -summary -skip ServingRuntime,InferenceService \
        -schema-location "$scratch/{{.ResourceKind}}{{.KindSuffix}}.json" "$@"
}

for version in 1.25 1.37; do
    validate $version "$top"/conf/kubernetes/*.yaml >"$scratch/log" 2>&1 || { cat "$scratch/log" >&2; fail "Kubernetes $version"; }
    echo "Kubernetes $version: $(cat "$scratch/log")"
    grep -q 'Valid: [1-9]' "$scratch/log" || fail "nothing was checked"
done
sed 's/periodSeconds: 10/periodSeconds: ten/' "$top/conf/kubernetes/sluice.yaml" >"$scratch/spoilt.yaml"
! validate 1.37 "$scratch/spoilt.yaml" >"$scratch/log" 2>&1 || fail "a spoilt manifest is valid"
