# shellcheck shell=sh
# Three SoCs with the same weights behind code of their own; bandwidth compression is on for the second, and the third
# has other graphs.
# shellcheck source=tests/cli/setup/chips.sh
. "$SETUP/chips.sh"
cp a.bin c.bin
record() {  # name, SoC, SDK, graph, options
  printf '{"type": "context_binary", "name": "%s", "file": "%s.bin", "group": "m", "unit": "main", ' "$1" "$1"
  printf '"target": {"backend": "htp", "qnn_soc": %s, "sdk": "%s"}, ' "$2" "$3"
  printf '"graphs": [{"name": "%s", "inputs": [], "outputs": []}], "options": {%s}}' "$4" "$5"
}
owned() {  # key, value
  printf '"%s": {"value": %s, "owner": "htp"}' "$1" "$2"
}
manifest() {  # records
  printf '{"schema": "fatctx.manifest/1", "name": "m", "records": [%s]}\n' "$1"
}
manifest "$(record a 57 2.48 main ''), $(record b 69 2.48 main "$(owned graphs.dlbc true)"), $(record c 87 2.48 decode '')" > m.json
